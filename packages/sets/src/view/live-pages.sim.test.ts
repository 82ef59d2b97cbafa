// Scans page by page while sets change, fold, and leave memory: each page is what there is at its moment.
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { ByteList } from '../byte-list.js';
import type { KeyspacePage } from '../keyspace.js';
import { openEngine } from '../open-engine.js';
import type { SetsEngine } from '../sets-engine.js';

const PAGE = 5;
const list = (...texts: readonly string[]) =>
  ByteList.of(...texts.map((text) => Buffer.from(text)));

async function open(ports: SimulatedBody): Promise<SetsEngine> {
  const storage = await ports.openStorage('db');
  const options = { nodeId: 1, clusterId: 'sim', cacheBytesMax: 1 };
  return openEngine({ ...ports, storage }, options);
}

async function textsOf(page: KeyspacePage): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const batch of page.batches)
    found.push(...batch.map((one) => Buffer.from(one).toString()));
  return found;
}

/** Names are sets with one member; members are those of one set. Both are scanned by the same test. */
const kinds = {
  names: {
    change: (text: string) => list(text, 'member'),
    open: ({ keyspace }: SetsEngine, position: number) =>
      keyspace.openNames({ position, count: PAGE }),
  },
  members: {
    change: (text: string) => list('set', text),
    open: ({ keyspace }: SetsEngine, position: number) =>
      keyspace.openMembers(list('set'), 0, { position, count: PAGE }),
  },
} as const;

test.each(Object.keys(kinds) as (keyof typeof kinds)[])(
  'S15 a scan of %s meets what stays and nothing that never was, whatever is folded meanwhile',
  async (kind) => {
    for (let seed = 0; seed < 5; seed += 1) {
      await runInSimulation(seed, async (ports) => {
        const { random, clock } = ports;
        const { change, open: openPage } = kinds[kind];
        const engine = await open(ports);
        const present = new Set<string>();
        const changeSome = async () => {
          for (let changes = random.u32() % 12; changes > 0; changes -= 1) {
            const text = `${random.u32() % 80}`;
            if (random.float() < 0.5) {
              engine.keyspace.add(change(text), 0, 1);
              present.add(text);
            } else {
              engine.keyspace.remove(change(text), 0, 1);
              present.delete(text);
            }
          }
          if (random.float() < 0.2) await engine.folding.foldAll();
          if (random.float() < 0.2) await clock.sleep(random.u32() % 150);
        };
        for (let round = 0; round < 12; round += 1) {
          await changeSome();
          const stayed = new Set(present);
          const was = new Set(present);
          const met = new Set<string>();
          let position = 0;
          do {
            const presentNow = new Set(present);
            using page = await openPage(engine, position);
            const changing = changeSome();
            const texts = await textsOf(page);
            expect(new Set(texts).size, 'once in a page').toBe(texts.length);
            for (const text of texts) {
              met.add(text);
              expect(presentNow, 'a page shows what there is').toContain(text);
            }
            await changing;
            for (const text of present) was.add(text);
            for (const text of stayed) if (!present.has(text)) stayed.delete(text);
            position = page.next;
          } while (position !== 0);
          // One that left and came back between two pages stays in `stayed` only if no page fell in between.
          expect([...stayed].filter((text) => !met.has(text))).toEqual([]);
          expect([...met].filter((text) => !was.has(text))).toEqual([]);
        }
        await engine.stop();
      });
    }
  },
);

test('S15 a page that nobody disturbs is exact, and waits for no fold', () =>
  runInSimulation(1, async (ports) => {
    const engine = await open(ports);
    const { keyspace, folding } = engine;
    const texts = Array.from({ length: 40 }, (_, index) => `${index}`);
    for (const text of texts) keyspace.add(list(text, 'member'), 0, 1);
    await folding.foldAll();
    for (const text of texts.slice(0, 20)) keyspace.remove(list(text, 'member'), 0, 1);
    keyspace.add(list('new', 'member'), 0, 1);
    const { batchesCount } = folding;
    const found: string[] = [];
    let position = 0;
    do {
      using page = await keyspace.openNames({ position, count: PAGE });
      found.push(...(await textsOf(page)));
      position = page.next;
    } while (position !== 0);
    expect(found.toSorted()).toEqual([...texts.slice(20), 'new'].toSorted());
    expect(folding.batchesCount, 'nothing was folded for it').toBe(batchesCount);
    await engine.stop();
  }));

// Views on a disk that takes no more folds: they show what the model holds, whoever writes or folds meanwhile.
import type { Storage } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { ByteList } from '../byte-list.js';
import type { KeyspaceView } from '../keyspace.js';
import { createOrderKeys, OrderHash } from '../memory/order-hash.js';
import { openEngine } from '../open-engine.js';
import type { SetsEngine } from '../sets-engine.js';
import { HeadCopies } from './head-copies.js';

type Model = Map<string, Set<string>>;

const never = new AbortController().signal;
const bytes = (text: string) => Buffer.from(text);
const textOf = (one: Uint8Array) => Buffer.from(one).toString();
const list = (...texts: readonly string[]) => ByteList.of(...texts.map(bytes));

async function start(ports: SimulatedBody) {
  const storage = await ports.openStorage('db');
  const options = { nodeId: 1, clusterId: 'sim', cacheBytesMax: 1 };
  return { storage, engine: await openEngine({ ...ports, storage }, options) };
}

/** Changes a few sets, of which some become empty. */
function change({ keyspace }: SetsEngine, model: Model, { random }: SimulatedBody): void {
  const name = `set ${random.u32() % 7}`;
  const members = model.get(name) ?? new Set();
  const isAdded = random.float() < 0.6;
  const texts = Array.from({ length: 1 + (random.u32() % 40) }, () => `${random.u32() % 150}`);
  if (isAdded) keyspace.add(list(name, ...texts), 0, 1);
  else keyspace.remove(list(name, ...texts), 0, 1);
  for (const text of texts) {
    if (isAdded) members.add(text);
    else members.delete(text);
  }
  if (members.size === 0) model.delete(name);
  else model.set(name, members);
}

async function flat(batches: AsyncIterable<readonly Uint8Array[]>): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const batch of batches) found.push(...batch.map(textOf));
  return found;
}

async function expectModel(view: KeyspaceView, model: Model): Promise<void> {
  const names = await flat(view.sets());
  const positions = names.map((name) => view.positionOf(bytes(name)));
  expect(positions, 'names come by position').toEqual(positions.toSorted((a, b) => a - b));
  expect(names.toSorted()).toEqual([...model.keys()].sort());
  const drawn = await view.randomSet();
  if (drawn !== undefined) expect(names).toContain(textOf(drawn));
  expect(drawn === undefined).toBe(model.size === 0);
  for (let set = 0; set < 7; set += 1) {
    const name = bytes(`set ${set}`);
    const expected = model.get(name.toString()) ?? new Set<string>();
    const members = await flat(view.members(name));
    expect(members.toSorted()).toEqual([...expected].sort());
    expect(view.cardinality(name)).toBe(expected.size);
    const middle = 2 ** 47;
    const behind = members.filter((member) => view.positionOf(bytes(member)) >= middle);
    expect(await flat(view.members(name, middle)), 'in order, from a position on').toEqual(behind);
    for (const member of ['0', '75', '149', 'none']) {
      expect(view.has(name, bytes(member))).toBe(expected.has(member));
    }
    if (expected.size > 0) expect(expected).toContain(textOf(await view.randomMember(name)));
  }
}

test('S7 a view on a full disk shows what is stored, folded or not', async () => {
  for (let seed = 0; seed < 10; seed += 1) {
    await runInSimulation(seed, async (ports) => {
      const { engine } = await start(ports);
      const model: Model = new Map();
      for (let round = 0; round < 3; round += 1) {
        for (let changes = ports.random.u32() % 8; changes > 0; changes -= 1)
          change(engine, model, ports);
        // Else the next changes lie in another part of the head, some of the same elements.
        if (ports.random.float() < 0.5) await engine.folding.foldAll();
        change(engine, model, ports);
        await engine.commits.allSettled();
        ports.node.disk.adjust({ isFull: true });
        const refused = write(engine);
        const views = [engine.keyspace.openView(never), engine.keyspace.openView(never)];
        using one = await (views[0] as Promise<KeyspaceView>);
        using other = await (views[1] as Promise<KeyspaceView>);
        expect(await refused).toBe('storage-full');
        await expectModel(one, model);
        ports.node.disk.adjust({ isFull: false });
        await write(engine, 'later');
        await expectModel(other, model);
        engine.keyspace.remove(list('later', 'x'), 0, 1);
      }
      using view = await engine.keyspace.openView(never);
      await expectModel(view, model);
      await engine.stop();
    });
  }
});

/** Gives the code of the refusal. */
async function write({ keyspace, commits }: SetsEngine, name = 'refused') {
  try {
    await keyspace.admit('write');
    keyspace.add(list(name, 'x'), 0, 1);
    await commits.allSettled();
    return 'stored';
  } catch (thrown) {
    return (thrown as { code: string }).code;
  }
}

/** Copies of the head of an engine that folds and writes as usual. */
function copiesOf(
  engine: SetsEngine,
  ports: SimulatedBody & { readonly storage: Storage },
  breathe: () => Promise<void>,
): HeadCopies {
  const { state, commits, keyspace } = engine;
  return new HeadCopies({
    ...ports,
    state,
    commits,
    hash: new OrderHash(createOrderKeys('sim').order),
    turns: { breathe },
    pauseWrites: () => () => undefined,
    changesCount: () => keyspace.operationsCount + commits.failuresCount,
  });
}

test('S7 a fold, or a change that is undone, while the head is copied does no harm', async () => {
  for (let seed = 0; seed < 4; seed += 1) {
    await runInSimulation(seed, async (ports) => {
      const { storage, engine } = await start(ports);
      const model: Model = new Map();
      for (let changes = 0; changes < 90; changes += 1) change(engine, model, ports);
      await engine.commits.allSettled();
      ports.node.disk.adjust({ isFull: seed > 0 });
      let slices = 0;
      const breathe = async () => {
        slices += 1;
        if (slices === seed) engine.keyspace.add(list('set 0', 'undone'), 0, 1);
        if (seed === 0 && slices === 4) await engine.folding.foldAll();
      };
      const copies = copiesOf(engine, { ...ports, storage }, breathe);
      using view = await copies.openView();
      expect(slices).toBeGreaterThan(3);
      await expectModel(view, model);
      await engine.stop();
    });
  }
});

test('S10 views share a copy, and only so many copies are in use', () =>
  runInSimulation(1, async (ports) => {
    const { storage, engine } = await start(ports);
    let slices = 0;
    const copies = copiesOf(engine, { ...ports, storage }, async () => {
      slices += 1;
    });
    const addMany = async (name: string) => {
      const texts = Array.from({ length: 128 }, (_, index) => `${index}`);
      engine.keyspace.add(list(name, ...texts), 0, 1);
      await engine.commits.allSettled();
    };
    await addMany('a');
    const one = await copies.openView();
    const two = await copies.openView();
    expect(slices, 'copied once').toBe(1);
    await addMany('b');
    using _ = await copies.openView();
    await addMany('c');
    await expect(copies.openView()).rejects.toMatchObject({ code: 'storage-full' });
    two.close();
    await expect(copies.openView()).rejects.toMatchObject({ code: 'storage-full' });
    one.close();
    using four = await copies.openView();
    expect((await flat(four.sets())).toSorted()).toEqual(['a', 'b', 'c']);
    await engine.stop();
  }));

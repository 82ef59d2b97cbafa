// Checkpoint directories written in format 1 can be continued. The files in testdata/format-1 are never rewritten; a
// later format gets its own folder beside it.
//
// Each holds a pipeline with every kind of operator, stopped after 60 of 100 records: one line per entry of its store
// and per file of its directories, in hex.
import { readFileSync } from 'node:fs';
import { StorageBatch } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { fileSink } from './ends/file-sink.js';
import { memorySource } from './ends/memory-source.js';
import type { OutboxSink } from './ends/sink.js';
import type { Json } from './ends/source.js';
import { definePipeline } from './pipeline/define.js';
import { tumbling } from './pipeline/window.js';
import { start } from './run/start.js';
import { numberCodec, stringCodec } from './state/codec.js';
import { aggregate, versioned } from './state/state-backend.js';

interface Event {
  readonly id: string;
  readonly user: string;
  readonly n: number;
  readonly t: number;
}

const events: readonly Event[] = Array.from({ length: 100 }, (_, n) => ({
  id: `id-${n % 80}`,
  user: `user-${(n * 7) % 6}`,
  n,
  t: n * 10 + ((n * 13) % 5) * 8,
}));

function createPipeline(rows: Json[], pauseAt: number) {
  const sink: OutboxSink = {
    kind: 'outbox',
    uid: 'rows',
    contract: 'dedup-at-consumer',
    mark: async () => null,
    async deliver(part) {
      rows.push(...part.rows.map(({ value }) => value));
      return 'committed';
    },
  };
  return definePipeline('golden', (p) => {
    const keyed = p
      .source(
        memorySource({
          uid: 'in',
          partitions: { a: events },
          batchItems: 10,
          beforeBatch: (_, index) => (index >= pauseAt ? new Promise<void>(() => {}) : undefined),
        }),
        { eventTime: (event) => event.t, outOfOrderMs: 40 },
      )
      .keyBy((event) => event.user);
    keyed
      .process({
        uid: 'totals',
        state: { total: aggregate(numberCodec), last: versioned(stringCodec, 'number') },
        onItem(event: Event, ctx) {
          const total = ctx.state.total.update((sum = 0) => sum + event.n);
          const result = ctx.state.last.put(event.id, event.t);
          if (event.n % 4 === 0) ctx.setTimer(event.t + 300);
          ctx.emit({ user: ctx.key, total, result });
        },
        onTimer({ atMs }, ctx) {
          ctx.emit({ user: ctx.key, atMs });
        },
      })
      .to(fileSink({ uid: 'out', dir: 'out' }));
    keyed
      .window(tumbling({ sizeMs: 200 }), {
        uid: 'windows',
        late: 'drop',
        codec: numberCodec,
        initial: () => 0,
        add: (count) => count + 1,
      })
      .to(fileSink({ uid: 'windows-out', dir: 'windows' }));
    const once = keyed.dedupe({ uid: 'once', id: (event) => event.id, keepMs: 100_000 });
    once
      .keyBy((event) => event.user)
      .reorder({
        uid: 'ordered',
        versionKind: 'number',
        version: (event) => event.t,
        sealed: { lag: 50 },
        late: 'drop',
      })
      .to(sink);
  });
}

async function runPart(
  world: SimulatedBody,
  backend: 'memory' | 'embedded',
  rows: Json[],
  pauseAt: number,
) {
  const { clock, random, logger, files, openStorage } = world;
  const checkpoint = { everyMs: 60_000, everyRecords: 10, minPauseMs: 0 };
  const run = await start(
    createPipeline(rows, pauseAt),
    { dir: 'state', state: backend, keyGroups: 8, checkpoint },
    { clock, random, logger, files, path: (path) => path, openStorage: (at) => openStorage(at) },
  );
  while (run.state === 'running' && run.progress().recordsIn < pauseAt) await clock.sleep(5);
  if (pauseAt < events.length) await run.stop();
  else await run.finished;
  let text = '';
  for (const directory of ['out', 'windows']) {
    for (const name of await files.list(directory)) {
      if (!name.startsWith('part-')) continue;
      text += Buffer.from(await files.readAt(`${directory}/${name}`, 0, 1e6)).toString();
    }
  }
  return text;
}

const FILES = /^(state\/FORMAT|state\/STATUS\.json|(out|windows)\/(\.owner|part-.*))$/;

async function load(world: SimulatedBody, name: string): Promise<void> {
  const url = new URL(`../testdata/format-1/${name}`, import.meta.url);
  const storage = await world.openStorage('state/db');
  const batch = new StorageBatch();
  for (const line of readFileSync(url, 'utf8').trimEnd().split('\n')) {
    const [kind, place = '', hex = ''] = line.split(' ');
    const bytes = Buffer.from(hex, 'hex');
    if (kind === 'entry') batch.put(Buffer.from(place, 'hex'), bytes);
    else {
      expect(place).toMatch(FILES);
      await world.files.makeDir(place.split('/')[0] ?? '');
      await world.files.append(place, bytes);
    }
  }
  await storage.write(batch, { durability: 'synced' });
  await storage.close();
}

for (const backend of ['memory', 'embedded'] as const) {
  test(`X10 a directory of format 1 is continued, ${backend} state`, async () => {
    const rows: Json[] = [];
    const text = await runInSimulation(1, (world) => runPart(world, backend, rows, events.length));
    const continued: Json[] = [];
    const found = await runInSimulation(2, async (world) => {
      await load(world, `pipeline-${backend}.txt`);
      return await runPart(world, backend, continued, events.length);
    });
    expect(found).toBe(text);
    // Rows of the last epoch may be delivered again: their target keeps no mark.
    const sent = rows.map((row) => JSON.stringify(row));
    expect(continued.length).toBeGreaterThan(20);
    expect(sent.slice(-continued.length)).toEqual(continued.map((row) => JSON.stringify(row)));
  });
}

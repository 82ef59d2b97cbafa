// Small pipelines and runs in a simulation, on the real code of the streams or on code with a bug in it.

import type { SynclineError } from '@syncline/kernel';
import type { SimulatedBody } from '@syncline/kernel/testing';
import { runInSimulation } from '@syncline/kernel/testing';
import type { Codec, OutboxRow, OutboxSink, Pipeline, StartOptions } from '@syncline/streams';
import type { SourceEdit } from '../simulation/load-edited.js';
import { loadStreams, REAL_STREAMS, type StreamsCode } from './planted-bug.js';

/** Holds for the real code, and fails for the code with the bug it is named after. */
export type Check = (world: SimulatedBody, code: StreamsCode) => Promise<void>;

/** Throws unless the check holds for the real code and fails once the bug is planted. */
export async function proveCheck(
  bug: string,
  edits: readonly SourceEdit[],
  check: Check,
): Promise<void> {
  await runInSimulation(bug, (world) => check(world, REAL_STREAMS));
  const planted = await loadStreams(bug, edits);
  const isFound = await runInSimulation(bug, (world) => check(world, planted)).then(
    () => false,
    () => true,
  );
  if (!isFound) throw new Error(`the planted bug was not found: ${bug}`);
}

export const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

export interface Shape {
  readonly uid?: string;
  readonly codec?: Codec<number>;
  readonly pauseAt?: number;
}

export function counting(
  code: StreamsCode,
  { uid = 'totals', codec, pauseAt = 1e9 }: Shape = {},
): Pipeline {
  return code.definePipeline('counting', (p) => {
    p.source(
      code.memorySource({
        uid: 'in',
        partitions: { a: numbers(100) },
        batchItems: 10,
        beforeBatch: (_, index) => (index >= pauseAt ? new Promise<void>(() => {}) : undefined),
      }),
    )
      .keyBy((n) => n % 5)
      .process({
        uid,
        state: { total: code.aggregate(codec ?? code.numberCodec) },
        onItem(n: number, ctx) {
          ctx.emit(ctx.state.total.update((total = 0) => total + n));
        },
      })
      .to(code.fileSink({ uid: 'out', dir: 'out' }));
  });
}

export function startIn(
  world: SimulatedBody,
  code: StreamsCode,
  pipeline: Pipeline,
  options: StartOptions = {},
) {
  const { clock, random, logger, files, openStorage } = world;
  const checkpoint = { everyMs: 50, everyRecords: 20, minPauseMs: 0 };
  return code.start(
    pipeline,
    { dir: 'state', checkpoint, ...options },
    {
      clock,
      random,
      logger,
      files,
      path: (path) => path,
      openStorage: (path) => openStorage(path),
    },
  );
}

export async function runPart(
  world: SimulatedBody,
  code: StreamsCode,
  shape: Shape,
): Promise<void> {
  const run = await startIn(world, code, counting(code, { ...shape, pauseAt: 50 }));
  while (run.progress().recordsIn < 50) await world.clock.sleep(5);
  await run.stop();
}

export async function codeOf(starting: Promise<unknown>): Promise<string> {
  return await starting.then(
    () => 'started',
    (error: SynclineError) => error.code,
  );
}

export function collecting(uid = 'out'): { readonly sink: OutboxSink; readonly rows: OutboxRow[] } {
  const rows: OutboxRow[] = [];
  const sink: OutboxSink = {
    kind: 'outbox',
    uid,
    contract: 'dedup-at-consumer',
    mark: async () => null,
    async deliver(part) {
      rows.push(...part.rows);
      return 'committed';
    },
  };
  return { sink, rows };
}

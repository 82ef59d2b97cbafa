// A store that silently lost any one of the batches that were written to it, as LevelDB does when a record of its log
// is damaged: a start is refused, or the batch contained nothing that matters.
import {
  createMemoryStorage,
  type Files,
  type Storage,
  type StorageBatch,
  SynclineError,
} from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { fileSink } from '../ends/file-sink.js';
import { memorySource } from '../ends/memory-source.js';
import { definePipeline } from '../pipeline/define.js';
import { start } from '../run/start.js';
import { numberCodec } from '../state/codec.js';
import { aggregate } from '../state/state-backend.js';

const RECORDS = 200;

const counting = (pauseAt: number) =>
  definePipeline('counting', (p) => {
    p.source(
      memorySource({
        uid: 'in',
        partitions: { a: Array.from({ length: RECORDS }, (_, index) => index) },
        batchItems: 10,
        beforeBatch: (_, index) => (index >= pauseAt ? new Promise<void>(() => {}) : undefined),
      }),
    )
      .keyBy((n) => n % 7)
      .process({
        uid: 'sums',
        state: { sum: aggregate(numberCodec) },
        onItem(n: number, ctx) {
          ctx.emit({ n, sum: ctx.state.sum.update((sum = 0) => sum + n) });
        },
      })
      .to(fileSink({ uid: 'out', dir: 'out' }));
  });

const EXPECTED = (() => {
  const sums = new Map<number, number>();
  return Array.from({ length: RECORDS }, (_, n) => {
    const sum = (sums.get(n % 7) ?? 0) + n;
    sums.set(n % 7, sum);
    return `${JSON.stringify({ n, sum })}\n`;
  }).join('');
})();

interface Recorded {
  readonly batches: StorageBatch[];
  open(): Promise<Storage>;
}

/** A storage that remembers what was written, across all processes, and can leave out one batch. */
function recorded(lost: number): Recorded {
  const batches: StorageBatch[] = [];
  const open = async () => {
    const storage = createMemoryStorage();
    for (const [index, batch] of batches.entries()) {
      if (index !== lost) await storage.write(batch, { durability: 'synced' });
    }
    return new Proxy(storage, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        if (name !== 'write') return value.bind(target);
        return async (...args: Parameters<Storage['write']>) => {
          batches.push(args[0]);
          return await target.write(...args);
        };
      },
    });
  };
  return { batches, open };
}

async function runOn(
  world: SimulatedBody,
  store: Recorded,
  state: 'memory' | 'embedded',
  pauseAt: number,
) {
  const { clock, random, logger, files } = world;
  const path = (given: string) => given;
  const checkpoint = { everyMs: 60_000, everyRecords: 10, minPauseMs: 0 };
  const options = { dir: 'state', state, keyGroups: 8, checkpoint };
  const ports = { clock, random, logger, files, path, openStorage: store.open };
  return await start(counting(pauseAt), options, ports);
}

async function outputOf({ files }: SimulatedBody): Promise<string> {
  let text = '';
  for (const name of await files.list('out')) {
    if (!name.startsWith('part-')) continue;
    text += Buffer.from(await files.readAt(`out/${name}`, 0, 1e6)).toString();
  }
  return text;
}

interface Left {
  readonly batches: readonly StorageBatch[];
  readonly files: ReadonlyMap<string, Uint8Array | 'directory'>;
  readonly output: string;
  readonly elapsedMs: number;
}

/** What two processes leave behind, one after the other. */
function runTwice(state: 'memory' | 'embedded'): Promise<Left> {
  return runInSimulation(state, async (world) => {
    const store = recorded(-1);
    for (const pauseAt of [60, 130]) {
      const run = await runOn(world, store, state, pauseAt);
      while (run.progress().recordsIn < pauseAt) await world.clock.sleep(5);
      await run.stop();
    }
    const files = new Map<string, Uint8Array | 'directory'>();
    await readFiles(world.files, '', files);
    const { batches } = store;
    return { batches, files, output: await outputOf(world), elapsedMs: world.clock.monotonicMs() };
  });
}

async function readFiles(
  files: Files,
  directory: string,
  found: Map<string, Uint8Array | 'directory'>,
): Promise<void> {
  for (const name of await files.list(directory)) {
    const path = directory === '' ? name : `${directory}/${name}`;
    const stat = await files.stat(path);
    if (stat?.kind === 'file') found.set(path, await files.readAt(path, 0, stat.bytes));
    else {
      found.set(path, 'directory');
      await readFiles(files, path, found);
    }
  }
}

/** A third process on a store without batch `lost`. */
async function lose(world: SimulatedBody, state: 'memory' | 'embedded', left: Left, lost: number) {
  for (const [path, content] of left.files) {
    if (content === 'directory') await world.files.makeDir(path);
    else await world.files.append(path, content);
  }
  await world.clock.sleep(left.elapsedMs); // time goes on
  const damaged = recorded(lost);
  damaged.batches.push(...left.batches);
  let outcome = 'harmless';
  try {
    const run = await runOn(world, damaged, state, Number.POSITIVE_INFINITY);
    await run.finished;
  } catch (thrown) {
    if (!(thrown instanceof SynclineError)) throw thrown;
    outcome = thrown.code;
  }
  return { outcome, after: await outputOf(world) };
}

for (const state of ['memory', 'embedded'] as const) {
  test(`X36 T11 a store that lost any one batch is refused or unharmed, ${state} state`, async () => {
    const outcomes: Record<string, number> = {};
    const left = await runTwice(state);
    for (let lost = 0; lost < left.batches.length; lost += 1) {
      const { outcome, after } = await runInSimulation(lost, (world) =>
        lose(world, state, left, lost),
      );
      if (outcome === 'harmless') expect(after, `batch ${lost}`).toBe(EXPECTED);
      else {
        expect(outcome, `batch ${lost}`).toMatch(/^(corrupt|out-of-step|fenced|conflict)$/);
        const isPrefix = after.startsWith(left.output) && EXPECTED.startsWith(after);
        expect(isPrefix, `batch ${lost}`).toBe(true);
      }
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    }
    expect(outcomes, JSON.stringify(outcomes)).toMatchObject({ corrupt: expect.any(Number) });
  });
}

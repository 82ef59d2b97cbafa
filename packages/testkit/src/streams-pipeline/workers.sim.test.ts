// Workers, on the real runtime and on copies of it with one planted bug each. A worker dies, channels are slow, and
// the next start has a different number of workers.
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { SimulatedWorkers } from '@syncline/streams/testing';
import { describe, expect, test } from 'vitest';
import {
  loadStreams,
  loadWorkers,
  REAL_STREAMS,
  type StreamsCode,
  WORKER_BUGS,
  type WorkersCode,
} from './planted-bug.js';

const PARTITIONS = 4;
const RECORDS = 80;

const partitions = Object.fromEntries(
  Array.from({ length: PARTITIONS }, (_, partition) => [
    `p${partition}`,
    [...new Array(RECORDS).keys()].map((index) => `user-${(index * PARTITIONS + partition) % 13}`),
  ]),
);

const totals = new Map<string, number>();
const expected = Object.values(partitions)
  .flat()
  .map((user) => {
    totals.set(user, (totals.get(user) ?? 0) + 1);
    return `"${user} ${totals.get(user)}"`;
  })
  .sort();

function pipelineOf(code: StreamsCode) {
  return code.definePipeline('workers', (p) => {
    p.source(code.memorySource({ uid: 'in', partitions, batchItems: 2 }))
      .keyBy((user) => user)
      .process({
        uid: 'counts',
        state: { count: code.aggregate(code.numberCodec) },
        onItem(user: string, ctx) {
          ctx.emit(`${user} ${ctx.state.count.update((n = 0) => n + 1)}`);
        },
      })
      .to(code.fileSink({ uid: 'out', dir: 'out' }));
  });
}

interface Code {
  readonly streams: StreamsCode;
  readonly workers: WorkersCode;
}

/** Three workers, one of which dies, then a stop, then four until the end. */
async function livesOf(world: SimulatedBody, { streams, workers }: Code, seed: number) {
  const { clock, random, logger, files, openStorage } = world;
  const pipeline = pipelineOf(streams);
  const startWith = async (count: number, killAt: number) => {
    let messages = 0;
    const { spawn } = new workers.SimulatedWorkers(world, pipeline, {
      delayMs: (from) => (from === seed % 3 ? 40 : 1),
      fate(_from, { kind }, kill) {
        if (messages > 0 || kind === 'ack') messages += 1;
        if (messages === killAt) kill(1);
        return 'delivered';
      },
    });
    return await streams.start(
      pipeline,
      {
        dir: 'state',
        workers: count,
        checkpoint: { everyMs: 50, everyRecords: 10, minPauseMs: 0 },
      },
      {
        clock,
        random,
        logger,
        files,
        path: (path) => path,
        openStorage: (path) => openStorage(path),
        spawnWorkers: spawn,
      },
    );
  };
  const first = await startWith(3, 10 + 11 * seed);
  while (first.progress().recordsIn < (RECORDS * PARTITIONS) / 2) await clock.sleep(1);
  await first.stop().catch((thrown: unknown) => {
    expect(thrown).toMatchObject({ code: 'unavailable' }); // the worker died while all were stopping
  });
  const last = await startWith(4, Number.NaN);
  await last.finished;
  let text = '';
  for (const name of await files.list('out')) {
    if (!name.startsWith('part-')) continue;
    text += Buffer.from(await files.readAt(`out/${name}`, 0, 1e9)).toString();
  }
  return text.split('\n').slice(0, -1).sort();
}

/** The first failure, if any. */
async function firstFailure(code: Code): Promise<string | undefined> {
  for (let seed = 0; seed < 16; seed += 1) {
    try {
      const options = { timeMsMax: 200_000 };
      const lines = await runInSimulation(seed, (world) => livesOf(world, code, seed), options);
      if (JSON.stringify(lines) !== JSON.stringify(expected))
        return `seed ${seed}: different output`;
    } catch (thrown) {
      return `seed ${seed}: ${(thrown as Error).message}`;
    }
  }
  return undefined;
}

describe('D8 D9 T8 T18 X60 workers that die and change in number', () => {
  test('change no output', async () => {
    const real = { streams: REAL_STREAMS, workers: { SimulatedWorkers } };
    expect(await firstFailure(real)).toBeUndefined();
  });

  for (const [bug, edits] of Object.entries(WORKER_BUGS)) {
    test(`find the planted bug: ${bug}`, async () => {
      const streams = await loadStreams(bug, edits);
      const workers = await loadWorkers(bug, edits);
      expect(await firstFailure({ streams, workers })).toBeDefined();
    });
  }
});

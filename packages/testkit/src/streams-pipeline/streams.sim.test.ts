// The crash tester and a few checks, on the real runtime and on copies of it with one planted bug each.
import { StorageBatch, SynclineError } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import type { Codec, OutboxSink, Pipeline, Source, StartOptions } from '@syncline/streams';
import { type CrashSubject, crashTest } from '@syncline/streams/testing';
import { describe, expect, test } from 'vitest';
import {
  CHECKED_BUGS,
  CRASH_BUGS,
  loadStreams,
  REAL_STREAMS,
  type StreamsCode,
} from './planted-bug.js';

interface Event {
  readonly k: string;
  readonly t: number;
}

const events: readonly Event[] = Array.from({ length: 90 }, (_, index) => ({
  k: index % 30 < 6 ? `rare${index % 60}` : `k${(index * 7) % 6}`,
  t: index * 10,
}));

/** Forgets what was acknowledged, as a trimmed stream does. */
function trimmingSource(code: StreamsCode): Source<Event, number> {
  let acked = 0;
  const whole = code.memorySource({ uid: 'in', partitions: { a: events }, batchItems: 5 });
  const check = async (partition: string, position: number, signal: AbortSignal) => {
    if (position < acked) {
      throw new SynclineError(
        'position-lost',
        `record ${position} was trimmed; the first is ${acked}`,
      );
    }
    await whole.check(partition, position, signal);
  };
  return {
    ...whole,
    check,
    async *read(partition, from, signal) {
      await check(partition, from ?? 0, signal);
      yield* whole.read(partition, from, signal);
    },
    async ack(positions) {
      acked = positions.get('a') ?? acked;
    },
  };
}

/** Running totals with logical times, timers and windows, all to part files. */
function subject(code: StreamsCode): CrashSubject {
  const source = trimmingSource(code);
  return {
    pipeline: code.definePipeline('reference', (p) => {
      const keyed = p
        .source(source, { eventTime: (event) => event.t, outOfOrderMs: 20 })
        .keyBy((event) => event.k);
      keyed
        .process({
          uid: 'totals',
          state: { count: code.aggregate(code.numberCodec) },
          onItem(event: Event, ctx) {
            const count = ctx.state.count.update((n = 0) => n + 1) ?? 0;
            if (count % 3 === 0) ctx.setTimer(event.t + 50);
            ctx.emit({ k: ctx.key, count, round: ctx.time.round });
          },
          onTimer({ atMs }, ctx) {
            ctx.emit({ k: ctx.key, atMs });
          },
        })
        .to(code.fileSink({ uid: 'out', dir: 'out' }));
      keyed
        .window(code.tumbling({ sizeMs: 200 }), {
          uid: 'windows',
          late: 'drop',
          codec: code.numberCodec,
          initial: () => 0,
          add: (n) => n + 1,
        })
        .to(code.fileSink({ uid: 'windows-out', dir: 'windows' }));
    }),
  };
}

const CRASHES = { statesMax: 90, chains: 15, failuresMax: 1, start: { keyGroups: 4 } } as const;

async function firstFailure(code: StreamsCode): Promise<string | undefined> {
  try {
    const report = await crashTest(() => subject(code), { ...CRASHES, startWith: code.start });
    return report.failures[0];
  } catch (thrown) {
    return (thrown as Error).message; // it fails without any crash
  }
}

describe('D2 D3 D5 D7 D8 T1 T2 T4 T5 T12 T14 T21 T22 crashes of the reference pipeline', () => {
  test('X35 X37 X39 change no byte of the output', async () => {
    expect(await firstFailure(REAL_STREAMS)).toBeUndefined();
  });

  for (const [bug, edits] of Object.entries(CRASH_BUGS)) {
    test(`find the planted bug: ${bug}`, async () => {
      expect(await firstFailure(await loadStreams(bug, edits))).toBeDefined();
    });
  }
});

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

interface Shape {
  readonly uid?: string;
  readonly codec?: Codec<number>;
  readonly pauseAt?: number;
}

function counting(
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

function startIn(
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

async function runPart(world: SimulatedBody, code: StreamsCode, shape: Shape): Promise<void> {
  const run = await startIn(world, code, counting(code, { ...shape, pauseAt: 50 }));
  while (run.progress().recordsIn < 50) await world.clock.sleep(5);
  await run.stop();
}

async function codeOf(starting: Promise<unknown>): Promise<string> {
  return await starting.then(
    () => 'started',
    (error: SynclineError) => error.code,
  );
}

type Check = (world: SimulatedBody, code: StreamsCode) => Promise<void>;

/** Each holds for the real code, and does not for the code with the bug of its name. */
const checks: Readonly<Record<keyof typeof CHECKED_BUGS, Check>> = {
  async 'T3 orphans of older generations stay'(world, code) {
    await runPart(world, code, {});
    await world.files.append('out/.staging/part-0000000009-0-g1-a0.tmp', Buffer.from('orphan'));
    const run = await startIn(world, code, counting(code));
    await run.finished;
    expect(await world.files.list('out/.staging')).toEqual([]);
  },
  async 'T9 state of a missing operator is ignored'(world, code) {
    await runPart(world, code, {});
    expect(await codeOf(startIn(world, code, counting(code, { uid: 'other' })))).toBe(
      'incompatible',
    );
  },
  async 'T10 a newer codec is not noticed'(world, code) {
    await runPart(world, code, { codec: { ...code.numberCodec, version: 2 } });
    // An empty second half of the state would hide it: the table alone must be enough.
    const starting = startIn(world, code, counting(code));
    const error = await starting.then(
      () => undefined,
      (thrown: SynclineError) => thrown,
    );
    expect(error?.code).toBe('too-new');
    expect(error?.message).toContain('state "totals/total"');
  },
  async 'T11 checksums of segments are not compared'(world, code) {
    await runPart(world, code, {});
    const storage = await world.openStorage('state/db');
    const swapped = new StorageBatch();
    const segments: { key: Uint8Array; value: Uint8Array }[] = [];
    for await (const entry of storage.range({
      from: Buffer.from('seg/'),
      to: Buffer.from('seg0'),
    })) {
      segments.push(entry);
    }
    // A sound segment in a wrong place: only the chain notices.
    const [first, second] = segments;
    if (first === undefined || second === undefined) throw new Error('too few segments');
    swapped.put(first.key, second.value).put(second.key, first.value);
    await storage.write(swapped, { durability: 'synced' });
    await storage.close();
    expect(await codeOf(startIn(world, code, counting(code)))).toBe('corrupt');
  },
  async 'T16 a fence is not compared'(world, code) {
    await runPart(world, code, {});
    await world.files.remove('out/.owner');
    const text = Buffer.from(
      JSON.stringify({ pipeline: await pipelineId(world), generation: 2, token: 'other' }),
    );
    await world.files.append('out/.owner', text);
    expect(await codeOf(startIn(world, code, counting(code)))).toBe('fenced');
  },
  async 'T17 an output that cannot be delivered is dropped'(world, code) {
    const got: unknown[] = [];
    let failuresLeft = 3;
    const sink: OutboxSink = {
      kind: 'outbox',
      uid: 'out',
      contract: 'dedup-at-consumer',
      mark: async () => null,
      async deliver({ rows }) {
        failuresLeft -= 1;
        if (failuresLeft >= 0)
          throw new SynclineError('unavailable', 'the transaction has expired');
        got.push(...rows.map(({ value }) => value));
        return 'committed';
      },
    };
    const pipeline = code.definePipeline('p', (p) => {
      p.source(code.memorySource({ uid: 'in', partitions: { a: numbers(30) } })).to(sink);
    });
    const run = await startIn(world, code, pipeline);
    await run.finished;
    expect(got).toEqual(numbers(30));
  },
  async 'T20 another file in the place of the one that was read is taken for it'(world, code) {
    const pipeline = () =>
      code.definePipeline('p', (p) => {
        p.source(
          code.jsonlSource<number>({ uid: 'in', files: ['in.jsonl'], follow: true, pollMs: 10 }),
        ).to(code.fileSink({ uid: 'out', dir: 'out' }));
      });
    const text = (from: number) =>
      Buffer.from(
        numbers(20)
          .map((n) => `${n + from}\n`)
          .join(''),
      );
    await world.files.append('in.jsonl', text(0));
    const run = await startIn(world, code, pipeline());
    while (run.progress().recordsIn < 20) await world.clock.sleep(5);
    await run.stop();
    await world.files.remove('in.jsonl');
    await world.files.append('in.jsonl', text(100));
    expect(await codeOf(startIn(world, code, pipeline()))).toBe('position-lost');
  },
  async 'T23 state of a poison record is not undone'(world, code) {
    const pipeline = code.definePipeline('p', (p) => {
      p.source(code.memorySource({ uid: 'in', partitions: { a: [1, 2, 3] } }))
        .keyBy(() => 'k')
        .process({
          uid: 'sum',
          state: { sum: code.aggregate(code.numberCodec) },
          onError: code.fileSink({ uid: 'dead', dir: 'dead' }),
          onItem(n: number, ctx) {
            const sum = ctx.state.sum.update((before = 0) => before + n);
            if (n === 2) throw new Error('poison');
            ctx.emit(sum);
          },
        })
        .to(code.fileSink({ uid: 'out', dir: 'out' }));
    });
    const run = await startIn(world, code, pipeline);
    await run.finished;
    const [part = ''] = (await world.files.list('out')).filter((name) => name.startsWith('part-'));
    const written = Buffer.from(await world.files.readAt(`out/${part}`, 0, 100)).toString();
    expect(written).toBe('1\n4\n');
  },
  async 'T26 a checkpoint starts while another is in flight'(world, code) {
    world.node.disk.adjust({ slowProbability: 1, slowMsMax: 500 });
    const run = await startIn(world, code, counting(code));
    await run.finished;
    expect(run.state).toBe('finished');
  },
};

async function pipelineId(world: SimulatedBody): Promise<string> {
  const storage = await world.openStorage('state/db');
  const meta = Buffer.from(storage.get(Buffer.from('meta')) as Uint8Array).toString('latin1');
  await storage.close();
  return /"pipeline":"([0-9a-f]+)"/.exec(meta)?.[1] ?? '';
}

describe('T3 T9 T10 T11 T16 T17 T20 T23 T26 checks that the runtime passes, and planted bugs do not', () => {
  for (const [bug, check] of Object.entries(checks)) {
    test(`${bug}: found, and not in the real code`, async () => {
      await runInSimulation(bug, (world) => check(world, REAL_STREAMS));
      const planted = await loadStreams(bug, CHECKED_BUGS[bug as keyof typeof CHECKED_BUGS]);
      await expect(runInSimulation(bug, (world) => check(world, planted))).rejects.toThrow();
    });
  }
});

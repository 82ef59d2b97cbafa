// The crash tester and a few checks, on the real runtime and on copies of it with one planted bug each.
import { StorageBatch, SynclineError } from '@syncline/kernel';
import type { SimulatedBody } from '@syncline/kernel/testing';
import type { OutboxSink, Pipeline, Source } from '@syncline/streams';
import { type CrashSubject, crashTest } from '@syncline/streams/testing';
import { describe, expect, test } from 'vitest';
import {
  type Check,
  codeOf,
  collecting,
  counting,
  numbers,
  proveCheck,
  runPart,
  startIn,
} from './checked-runs.js';
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
            ctx.emit({ k: ctx.key, count, time: { ...ctx.time } });
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

describe('D2 D3 D5 D7 D8 T1 T2 T4 T5 T7 T12 T14 T21 T22 crashes of the reference pipeline', () => {
  test('X35 X37 X39 change no byte of the output', async () => {
    expect(await firstFailure(REAL_STREAMS)).toBeUndefined();
  });

  for (const [bug, edits] of Object.entries(CRASH_BUGS)) {
    test(`find the planted bug: ${bug}`, async () => {
      expect(await firstFailure(await loadStreams(bug, edits))).toBeDefined();
    });
  }
});

/** Times that are versions too, sealed with a lag, behind a reorder and through windows of 1 ms. */
async function reordered(world: SimulatedBody, code: StreamsCode, times: readonly number[]) {
  const out = collecting();
  const late = collecting('late');
  const pipeline = code.definePipeline('p', (p) => {
    p.source(code.memorySource({ uid: 'in', partitions: { a: times }, batchItems: 1 }), {
      eventTime: (t) => t,
      outOfOrderMs: 12,
    })
      .keyBy(() => 'k')
      .reorder({
        uid: 'r',
        versionKind: 'number',
        version: (t) => t,
        sealed: { lag: 40 },
        late: 'drop',
      })
      .keyBy((t) => t)
      .window(code.tumbling({ sizeMs: 1 }), {
        uid: 'w',
        late: late.sink,
        initial: () => 0,
        add: (_: number, t) => t,
      })
      .to(out.sink);
  });
  const run = await startIn(world, code, pipeline);
  await run.finished;
  const values = out.rows.map(({ value }) => (value as { value: number }).value);
  return { values, late: late.rows.map(({ value }) => value) };
}

/** Windows over two partitions, one of which delivers nothing and may report that it is idle. */
function countedPerWindow(code: StreamsCode, sink: OutboxSink, isIdle: boolean): Pipeline {
  const busy = code.memorySource({ uid: 'in', partitions: { a: [1, 500], b: [] as number[] } });
  const source: Source<number, number> = {
    ...busy,
    isFinite: false,
    async *read(partition, from, signal) {
      if (partition === 'a') {
        for await (const batch of busy.read(partition, from, signal))
          yield { ...batch, end: false };
      } else if (isIdle) yield { items: [], position: 0, idle: true };
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    },
  };
  return code.definePipeline('p', (p) => {
    p.source(source, { eventTime: (t) => t })
      .keyBy(() => 'k')
      .window(code.tumbling({ sizeMs: 100 }), {
        uid: 'w',
        late: 'drop',
        initial: () => 0,
        add: (n: number) => n + 1,
      })
      .to(sink);
  });
}

/** One key group, and an epoch for each record. */
const EACH_RECORD = {
  checkpoint: { everyMs: 60_000, everyRecords: 1, minPauseMs: 0 },
  keyGroups: 1,
} as const;
const isEarlyOrLate = (n: number) => n < 6 || n >= 70;
const EARLY_AND_LATE = numbers(80)
  .filter(isEarlyOrLate)
  .reduce((sum, n) => sum + n);

function oneGroup(code: StreamsCode, pauseAt = Number.POSITIVE_INFINITY): Pipeline {
  const keyOf = (n: number) => {
    // It never changes again: an epoch that changes all keys of a group replaces its segments anyway.
    if (n === 0) return 'first';
    return isEarlyOrLate(n) ? 'k' : 'l';
  };
  return code.definePipeline('p', (p) => {
    const beforeBatch = (_: string, index: number) =>
      index >= pauseAt ? new Promise<void>(() => {}) : undefined;
    const partitions = { a: numbers(80) };
    p.source(code.memorySource({ uid: 'in', partitions, batchItems: 1, beforeBatch }))
      .keyBy(keyOf)
      .reduce({ uid: 'sum', initial: () => 0, add: (sum: number, n) => sum + n })
      .to(code.fileSink({ uid: 'out', dir: 'out' }));
  });
}

const checks: Readonly<Record<keyof typeof CHECKED_BUGS, Check>> = {
  async 'D1 descendants of one record share its time'(world, code) {
    const { sink, rows } = collecting();
    const pipeline = code.definePipeline('p', (p) => {
      p.source(code.memorySource({ uid: 'in', partitions: { a: [1, 2] } }))
        .flatMap((n) => [n, n])
        .to(sink);
    });
    const run = await startIn(world, code, pipeline);
    await run.finished;
    expect(new Set(rows.map(({ id }) => id)).size).toBe(4);
  },
  async 'D4 no checkpoint comes by timer'(world, code) {
    const checkpoint = { everyMs: 50 };
    const run = await startIn(world, code, counting(code, { pauseAt: 50 }), { checkpoint });
    await world.clock.sleep(1_000);
    expect(run.progress().epoch).toBe(1);
    await run.stop();
  },
  async 'D6 uids are not checked'(_world, code) {
    const build = () =>
      code.definePipeline('p', (p) => p.source(code.memorySource({ uid: 'a.b', partitions: {} })));
    expect(build).toThrow(/does not match/);
  },
  async 'D10 event time overtakes items that are held back'(world, code) {
    const { values, late } = await reordered(world, code, [10, 30, 50, 120, 130]);
    expect(late).toEqual([]);
    expect(values).toEqual([10, 30, 50, 120, 130]);
  },
  async 'D11 sealed items leave in the order of their arrival'(world, code) {
    const { values } = await reordered(world, code, [3, 1, 2, 6, 5]);
    expect(values).toEqual([1, 2, 3, 5, 6]);
  },
  async 'T6 an older version is applied'(world, code) {
    const { sink, rows } = collecting();
    const pipeline = code.definePipeline('p', (p) => {
      p.source(code.memorySource({ uid: 'in', partitions: { a: [2, 1, 3, 3] } }))
        .keyBy(() => 'k')
        .reorder({ uid: 'r', versionKind: 'number', version: (n) => n, policy: 'lww' })
        .to(sink);
    });
    const run = await startIn(world, code, pipeline);
    await run.finished;
    expect(rows.map(({ value }) => value)).toEqual([2, 3]);
  },
  async 'T19 idle partitions hold event time back'(world, code) {
    const { sink, rows } = collecting();
    const run = await startIn(world, code, countedPerWindow(code, sink, true), { order: 'ready' });
    await world.clock.sleep(1_000);
    expect(rows).toHaveLength(1);
    await run.stop();
  },
  async 'T19 a partition that holds event time back is not named'(world, code) {
    const { sink, rows } = collecting();
    const run = await startIn(world, code, countedPerWindow(code, sink, false), { order: 'ready' });
    await world.clock.sleep(20_000);
    expect(run.progress().heldBackBy).toBeNull();
    await world.clock.sleep(20_000);
    expect(run.progress().heldBackBy).toBe('in/b');
    expect(rows).toHaveLength(0);
    await run.stop();
  },
  async 'T25 a full disk ends the run'(world, code) {
    const run = await startIn(world, code, counting(code));
    world.node.disk.adjust({ isFull: true });
    while (run.state === 'running') await world.clock.sleep(5);
    expect(run.progress()).toMatchObject({
      state: 'stalled',
      error: expect.stringContaining('no space'),
    });
    world.node.disk.adjust({ isFull: false });
    await run.finished;
    expect(run.state).toBe('finished');
  },
  async 'T28 numbers above 2^53 are taken for versions'(world, code) {
    const pipeline = code.definePipeline('p', (p) => {
      p.source(code.memorySource({ uid: 'in', partitions: { a: [2 ** 53] } }))
        .keyBy(() => 'k')
        .reorder({ uid: 'r', versionKind: 'number', version: (n) => n, policy: 'lww' })
        .to(collecting().sink);
    });
    const run = await startIn(world, code, pipeline);
    await expect(run.finished).rejects.toMatchObject({ code: 'bad-record' });
  },
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
    // A valid segment in the wrong place: only the chain detects it.
    const [first, second] = segments;
    if (first === undefined || second === undefined) throw new Error('too few segments');
    swapped.put(first.key, second.value).put(second.key, first.value);
    await storage.write(swapped, { durability: 'synced' });
    await storage.close();
    expect(await codeOf(startIn(world, code, counting(code)))).toBe('corrupt');
  },
  async 'T14 no key group is ever rewritten'(world, code) {
    const run = await startIn(world, code, oneGroup(code), EACH_RECORD);
    await run.finished;
    expect(run.progress().epoch).toBeGreaterThanOrEqual(80);
  },
  async 'T14 the oldest entry of a key stays when its group is rewritten'(world, code) {
    const first = await startIn(world, code, oneGroup(code, 40), EACH_RECORD);
    while (first.progress().recordsIn < 40) await world.clock.sleep(5);
    await first.stop();
    const second = await startIn(world, code, oneGroup(code), EACH_RECORD);
    await second.finished;
    const last = [...(await world.files.list('out'))].sort().at(-1) ?? '';
    const line = Buffer.from(await world.files.readAt(`out/${last}`, 0, 100)).toString();
    expect(JSON.parse(line)).toEqual({ key: 'k', value: EARLY_AND_LATE });
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
    while (run.state === 'running') await world.clock.sleep(1);
    expect(run.progress().error).toMatch(/the transaction has expired/);
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

describe('D1 D4 D6 D10 D11 T3 T6 T9 T10 T11 T14 T16 T17 T19 T20 T23 T25 T26 T28 checks that the runtime passes, and planted bugs do not', () => {
  for (const [bug, check] of Object.entries(checks)) {
    const edits = CHECKED_BUGS[bug as keyof typeof CHECKED_BUGS];
    test(`${bug}: found, and not in the real code`, () => proveCheck(bug, edits, check));
  }
});

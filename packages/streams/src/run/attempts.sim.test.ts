// How a run ends and continues when things go wrong around it: stalled sinks and disks, a busy loop, late requests.
import { getEventListeners } from 'node:events';
import { SynclineError } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import { callbackSink } from '../ends/callback-sink.js';
import { fileSink } from '../ends/file-sink.js';
import { memorySource } from '../ends/memory-source.js';
import type { Sink } from '../ends/sink.js';
import type { Source } from '../ends/source.js';
import { definePipeline, type Pipeline, type SinkFor } from '../pipeline/define.js';
import type { PipelineRun } from './run.js';
import { type StartDeps, type StartOptions, start } from './start.js';

const sim = (name: string, body: (world: SimulatedBody) => Promise<void>) =>
  test(name, () => runInSimulation(name, body));

function startIn(
  world: SimulatedBody,
  pipeline: Pipeline,
  options: StartOptions = {},
  deps: StartDeps = {},
): Promise<PipelineRun> {
  const ports = { ...world, path: (given: string) => given };
  const openStorage = (at: string) => world.openStorage(at);
  const checkpoint = { everyMs: 50 };
  return start(
    pipeline,
    { dir: 'state', checkpoint, ...options },
    { ...ports, openStorage, ...deps },
  );
}

/** A record every 10 ms, forever. */
function ticking({ clock }: SimulatedBody, everyMs = 10): Source<number, number> {
  return {
    uid: 'in',
    isFinite: false,
    partitions: async () => ['a'],
    check: async () => {},
    async *read(_, from, signal) {
      for (let n = from ?? 0; ; n += 1) {
        yield { items: [n], position: n + 1 };
        await clock.sleep(everyMs, signal);
      }
    },
  };
}

const copying = (source: Source<number, number>, sink: SinkFor<unknown>) =>
  definePipeline('copy', (p) => p.source(source).to(sink));

/** Part files on a disk that can be full. */
function fullDisk(): { readonly sink: Sink<unknown>; isFull: boolean } {
  const disk = { isFull: false, sink: fileSink({ uid: 'out', dir: 'out' }) as Sink<unknown> };
  const whole = disk.sink;
  const check = () => {
    if (disk.isFull) throw new SynclineError('storage-full', 'no room');
  };
  disk.sink = new Proxy(whole, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return async (...args: readonly unknown[]) => {
        if (name === 'prepare' || name === 'recover') check();
        return await Reflect.apply(value, target, args);
      };
    },
  });
  return disk;
}

/** Resolves to how a run ended, or to `hangs` if it did not within a minute. */
async function outcomeOf({ clock }: SimulatedBody, ended: Promise<void>): Promise<string> {
  return await Promise.race([
    ended.then(
      () => 'ended',
      (thrown: SynclineError) => thrown.code,
    ),
    clock.sleep(60_000).then(() => 'hangs'),
  ]);
}

describe('T27 a run that is stalled', () => {
  async function stalled(world: SimulatedBody, signal?: AbortSignal): Promise<PipelineRun> {
    const disk = fullDisk();
    const pipeline = copying(ticking(world), disk.sink);
    const run = await startIn(world, pipeline, signal === undefined ? {} : { signal });
    await world.clock.sleep(500);
    disk.isFull = true;
    await world.clock.sleep(5_000);
    expect(run.state).toBe('stalled');
    return run;
  }

  sim('by a full disk ends normally when it is aborted', async (world) => {
    const stop = new AbortController();
    const run = await stalled(world, stop.signal);
    stop.abort();
    expect([await outcomeOf(world, run.finished), run.state]).toEqual(['ended', 'stopped']);
    expect(world.node.pendingTimersCount).toBe(1); // the minute above
  });

  sim('by a full disk ends with its error when it is stopped', async (world) => {
    const run = await stalled(world);
    expect([await outcomeOf(world, run.stop()), run.state]).toEqual(['storage-full', 'failed']);
  });

  sim(
    'by a full disk refuses a savepoint, which would lack the output that is owed',
    async (world) => {
      const run = await stalled(world);
      await expect(run.savepoint('now')).rejects.toMatchObject({ code: 'unavailable' });
      await run.stop().catch(() => undefined);
    },
  );

  for (const isStopped of [false, true]) {
    const when = isStopped ? ', also if it was stopped before' : '';
    sim(`by a sink that never answers ends soon after it is aborted${when}`, async (world) => {
      const stop = new AbortController();
      const hanging = callbackSink({ uid: 'out', call: () => new Promise(() => {}) });
      const run = await startIn(world, copying(ticking(world), hanging), { signal: stop.signal });
      await world.clock.sleep(1_000);
      if (isStopped) run.stop().catch(() => undefined);
      const abortedMs = world.clock.monotonicMs();
      stop.abort();
      expect([await outcomeOf(world, run.finished), run.state]).toEqual(['ended', 'stopped']);
      expect(world.clock.monotonicMs() - abortedMs).toBeLessThan(10_100); // `stopGraceMs`
    });
  }

  sim('by a sink that cannot prepare ends at once when it is aborted', async (world) => {
    const stop = new AbortController();
    const sink = { ...ignoring(), prepare: () => new Promise<never>(() => {}) };
    const run = await startIn(world, copying(ticking(world), sink), { signal: stop.signal });
    await world.clock.sleep(1_000);
    const abortedMs = world.clock.monotonicMs();
    stop.abort();
    expect([await outcomeOf(world, run.finished), run.state]).toEqual(['ended', 'stopped']);
    expect(world.clock.monotonicMs() - abortedMs).toBeLessThan(100);
  });

  sim('by a callback tells it that the run was aborted', async (world) => {
    const stop = new AbortController();
    let isTold = false;
    const sink = callbackSink({
      uid: 'out',
      call: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            isTold = true;
            reject(new Error('stopped'));
          });
        }),
    });
    const run = await startIn(world, copying(ticking(world), sink), { signal: stop.signal });
    await world.clock.sleep(1_000);
    stop.abort();
    await run.finished;
    expect(isTold).toBe(true);
  });
});

/** A sink that accepts everything and keeps nothing. */
function ignoring(): Sink<unknown> {
  return {
    uid: 'out',
    contract: 'transactional',
    mark: async () => null,
    recover: async () => {},
    begin: async () => ({}),
    write: async () => {},
    prepare: async () => ({}),
    commit: async () => 'committed',
    abort: async () => {},
  };
}

sim('a run that has ended leaves no listener on its signal', async (world) => {
  const { signal } = new AbortController();
  const run = await startIn(world, copying(ticking(world), ignoring()), { signal });
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  await run.stop();
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});

sim('an error while a failed run closes does not hide why it failed', async (world) => {
  const closed: string[] = [];
  const source: Source<number, number> = {
    ...ticking(world),
    async close() {
      throw new SynclineError('unavailable', 'cannot close');
    },
  };
  const sink = { ...callbackSink({ uid: 'out', call: async () => {} }), uid: 'out' };
  const pipeline = definePipeline('p', (p) => {
    p.source(source)
      .map((n) => {
        if (n === 5) throw new Error('five');
        return n;
      })
      .to({ ...sink, close: async () => void closed.push('sink') });
  });
  const run = await startIn(world, pipeline);
  await expect(run.finished).rejects.toMatchObject({ code: 'bad-record' });
  expect(closed).toEqual(['sink']);
});

sim('a directory that cannot be read is not left locked', async (world) => {
  const pipeline = copying(ticking(world), ignoring());
  const first = await startIn(world, pipeline);
  await first.stop();
  const files = new Proxy(world.files, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return async (...args: readonly unknown[]) => {
        const isStatus = String(args[0]).endsWith('STATUS.json') && name === 'readAt';
        if (isStatus) throw new SynclineError('storage-failed', 'cannot read');
        return await Reflect.apply(value, target, args);
      };
    },
  });
  await expect(startIn(world, pipeline, {}, { files })).rejects.toThrow('cannot read');
  const second = await startIn(world, pipeline);
  await second.stop();
});

sim('a store that is being reopened delays the run, and no record is to blame', async (world) => {
  let isReopening = false;
  const openStorage = async (at: string) =>
    new Proxy(await world.openStorage(at), {
      get(target, name) {
        if (name === 'get' && isReopening)
          throw new SynclineError('unavailable', 'the store is being reopened');
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  const dead: unknown[] = [];
  const seen = new Set<string>();
  const pipeline = definePipeline('p', (p) => {
    p.source(ticking(world))
      .keyBy((n) => n)
      .reduce({
        uid: 'sums',
        initial: () => 0,
        add: (sum, n) => sum + n,
        onError: callbackSink({ uid: 'dead', call: async (rows) => void dead.push(...rows) }),
      })
      .to(
        callbackSink({
          uid: 'out',
          call: async (rows) => rows.forEach(({ value }) => void seen.add(JSON.stringify(value))),
        }),
      );
  });
  const run = await startIn(
    world,
    pipeline,
    { state: 'embedded', checkpoint: { everyMs: 5_000 } },
    { openStorage },
  );
  await run.checkpoint();
  isReopening = true;
  await world.clock.sleep(100);
  const { state } = run;
  isReopening = false;
  await world.clock.sleep(10_000);
  await run.stop();
  expect(state).toBe('stalled');
  expect(dead).toEqual([]);
  expect(seen.size).toBe(run.progress().recordsIn);
});

sim('a source that cannot take an acknowledgement does not prevent a start', async (world) => {
  let isDown = false;
  const source: Source<number, number> = {
    ...ticking(world),
    async ack() {
      if (isDown) throw new SynclineError('unavailable', 'no answer');
    },
  };
  const run = await startIn(world, copying(source, ignoring()));
  await world.clock.sleep(300);
  await run.stop();
  isDown = true;
  const again = await startIn(world, copying(source, ignoring()));
  await again.stop();
});

sim('a busy run reports its progress and looks for new partitions', async (world) => {
  const { clock } = world;
  let busyMs = 0;
  let looks = 0;
  const source = memorySource({
    uid: 'in',
    partitions: { a: Array.from({ length: 8_000 }, (_, n) => n) },
    batchItems: 1,
  });
  const watched: Source<number, number> = {
    ...source,
    async partitions(signal) {
      looks += 1;
      return await source.partitions(signal);
    },
  };
  const pipeline = definePipeline('busy', (p) => {
    p.source(watched)
      .map((n) => {
        busyMs += 10;
        return n;
      })
      .to(ignoring());
  });
  let reports = 0;
  const run = await startIn(
    world,
    pipeline,
    { progress: { report: () => (reports += 1) }, checkpoint: { everyMs: 60_000 } },
    {
      clock: {
        nowMs: () => clock.nowMs(),
        monotonicMs: () => clock.monotonicMs() + busyMs,
        sleep: (ms, signal) => clock.sleep(ms, signal),
        setTimer: (ms, callback, options) => clock.setTimer(ms, callback, options),
        defer: (callback) => clock.defer(callback),
      },
    },
  );
  await run.finished;
  expect(reports).toBeGreaterThan(70); // 80 s
  expect(looks).toBe(3);
});

describe('T26 requested checkpoints', () => {
  sim('create no epoch if nothing has happened', async (world) => {
    const source = ticking(world, 1_000_000);
    const run = await startIn(world, copying(source, ignoring()), { checkpoint: {} });
    await world.clock.sleep(100);
    const first = await run.checkpoint();
    expect(first?.epoch).toBe(1);
    expect(await run.checkpoint()).toBe(first);
    await run.stop();
    expect(run.progress().epoch).toBe(1);
  });

  sim('wait for the pause after the previous one', async (world) => {
    const run = await startIn(world, copying(ticking(world), ignoring()), {
      checkpoint: { everyMs: 60_000, minPauseMs: 5_000 },
    });
    await world.clock.sleep(100);
    await run.checkpoint();
    const endedMs = world.clock.monotonicMs();
    await run.checkpoint();
    expect(world.clock.monotonicMs() - endedMs).toBeGreaterThanOrEqual(5_000);
    await run.stop();
  });
});

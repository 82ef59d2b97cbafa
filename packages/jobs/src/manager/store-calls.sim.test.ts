import { type Logger, SynclineError, silentLogger } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import { overrideStore } from '../conformance/override-store.js';
import { TimerCount } from '../conformance/timer-count.js';
import { createMemoryJobStore } from '../embedded/embedded-adapter.js';
import type { JobStore } from '../job-store.js';
import { createJobManager } from './create-job-manager.js';

const never = () => new Promise<never>(() => {});

/** A manager whose store has `overrides` once it is open. */
async function open(world: SimulatedBody, overrides: Partial<JobStore>) {
  const store = createMemoryJobStore(world);
  const target = {
    store: overrideStore(store, overrides),
    jobId: 'job',
    taskIndex: 0,
    numTasks: 1,
  };
  return { store, job: await createJobManager(target, { lease: false }, world) };
}

const failureOf = (promise: Promise<unknown>): Promise<SynclineError> =>
  promise.then(
    () => expect.unreachable('it should have failed'),
    (error: unknown) => SynclineError.from(error),
  );

describe('calls to a store', () => {
  test('J2 a server outage of 50 s is waited out, without any code in the worker', () =>
    runInSimulation('away', async (world) => {
      const eventIds = new Set<string>();
      const backMs = world.clock.monotonicMs() + 50_000;
      const { job, store } = await open(world, {
        async setState(write) {
          eventIds.add(write.eventId);
          if (world.clock.monotonicMs() < backMs)
            throw new SynclineError('unavailable', 'connection refused');
          return store.setState(write);
        },
      });
      const result = await job.setStarted({ tag: 'ingest' });
      expect(result).toMatchObject({ applied: true, state: { version: 1 } });
      expect(eventIds.size).toBe(1);
      await job.close();
    }));

  test('J2 an unreachable store is retried until timeoutMs, then the error begins with 🔴', () =>
    runInSimulation('unavailable', async (world) => {
      const eventIds: string[] = [];
      const { job } = await open(world, {
        async setState({ eventId }) {
          eventIds.push(eventId);
          throw new SynclineError('unavailable', 'connection refused');
        },
      });
      const startMs = world.clock.monotonicMs();
      const error = await failureOf(job.setStarted({ tag: 'ingest' }));
      const tookMs = world.clock.monotonicMs() - startMs;
      expect(tookMs).toBeGreaterThan(59_000);
      expect(tookMs).toBeLessThanOrEqual(60_000);
      expect(new Set(eventIds)).toEqual(new Set([error.details['eventId']]));
      expect(error.message).toMatch(
        /^🔴 .*"ingest".*after \d\d attempts: connection refused\. It was not applied/,
      );
      expect(error).toMatchObject({ code: 'unavailable', outcome: 'not-applied' });
      await job.close();
    }));

  test('an unreachable store is logged once, at the first attempt, and again when it is back', () =>
    runInSimulation('not there', async (world) => {
      const store = createMemoryJobStore(world);
      const lines: string[] = [];
      const note = (msg: string, fields?: object) =>
        void lines.push(`${world.clock.monotonicMs()} ${msg} ${JSON.stringify(fields)}`);
      const log: Logger = { ...silentLogger, warn: note, info: note, child: () => log };
      const away = overrideStore(store, {
        async createJob(spec) {
          if (world.clock.monotonicMs() >= 30_000) return store.createJob(spec);
          throw new SynclineError('unavailable', 'connection refused');
        },
      });
      const target = { store: away, jobId: 'job', taskIndex: 0, numTasks: 1 };
      const job = await createJobManager(target, { log }, world);
      expect(lines).toEqual([
        '0 🟡 cannot reach the job store, retrying {"error":"unavailable","reason":"connection refused"}',
        expect.stringMatching(/^3[\d.]+ the job store is reachable again/),
      ]);
      await job.close();
    }));

  test('the timeout of a write starts with its call: ten that wait for each other fail together', () =>
    runInSimulation('queued', async (world) => {
      const { job } = await open(world, { setState: never });
      const startMs = world.clock.monotonicMs();
      const writes = Array.from({ length: 10 }, (_, index) =>
        failureOf(job.setState({ tag: 'a', status: index + 1 })),
      );
      const errors = await Promise.all(writes);
      expect(world.clock.monotonicMs() - startMs).toBe(60_000);
      expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(['timeout']));
      expect(errors.map(({ outcome }) => outcome)).toEqual([
        'unknown',
        ...Array.from({ length: 9 }, () => 'not-applied'),
      ]);
      expect(errors.at(-1)?.message).toMatch(/^🔴 .*could not be sent within 60000 ms/);
      await job.close();
    }));

  test('opening has one timeout for the job and its claim together', () =>
    runInSimulation('opening', async (world) => {
      const store = createMemoryJobStore(world);
      const slow = overrideStore(store, {
        async createJob(spec) {
          await world.clock.sleep(900);
          return store.createJob(spec);
        },
        lease: never,
      });
      const target = { store: slow, jobId: 'job', taskIndex: 0, numTasks: 1 };
      const error = await failureOf(createJobManager(target, { timeoutMs: 1_000 }, world));
      expect(error).toMatchObject({ code: 'timeout', outcome: 'unknown' });
      expect(world.clock.monotonicMs()).toBe(1_000);
    }));

  test('J21 closing that gives up on a write leaves no timer, even if there is nothing to release', () =>
    runInSimulation('given up', async (world) => {
      const clock = new TimerCount(world.clock);
      const store = overrideStore(createMemoryJobStore(world), { setState: never });
      const target = { store, jobId: 'job', taskIndex: 0, numTasks: 1 };
      const job = await createJobManager(target, { lease: false }, { ...world, clock });
      await job.deleteJob();
      const first = failureOf(job.setStarted({ tag: 'ingest' }));
      const second = failureOf(job.setFinished({ tag: 'ingest' })); // waits for the first
      await world.clock.sleep(1_000);
      await job.close();
      expect(clock.pending).toBe(0);
      expect(await first).toMatchObject({ code: 'timeout', outcome: 'unknown' });
      expect(await second).toMatchObject({ code: 'timeout', outcome: 'not-applied' });
    }));

  test('J2 a store that never answers: `timeout` within the time, outcome unknown', () =>
    runInSimulation('silent', async (world) => {
      let sent = 0;
      const { job } = await open(world, {
        setState() {
          sent += 1;
          return never();
        },
      });
      const startMs = world.clock.monotonicMs();
      const error = await failureOf(job.setStarted({ tag: 'ingest' }));
      expect(error).toMatchObject({ code: 'timeout', outcome: 'unknown' });
      expect(error.message).toMatch(/^🔴 /);
      expect(sent).toBe(6);
      expect(world.clock.monotonicMs() - startMs).toBe(60_000);
      await job.close();
    }));

  test('J2 if any attempt may have arrived, the outcome of the write is unknown', () =>
    runInSimulation('maybe', async (world) => {
      let sent = 0;
      const { job } = await open(world, {
        async setState() {
          sent += 1;
          const outcome = sent === 1 ? 'unknown' : 'not-applied';
          throw new SynclineError('unavailable', 'connection lost', { outcome });
        },
      });
      const error = await failureOf(job.setStarted({ tag: 'ingest' }));
      expect(error).toMatchObject({ code: 'unavailable', outcome: 'unknown' });
      await job.close();
    }));

  test('an error that is not retryable is not retried', () =>
    runInSimulation('refused', async (world) => {
      let sent = 0;
      const { job } = await open(world, {
        async setState() {
          sent += 1;
          throw new SynclineError('limit-exceeded', 'too many tags');
        },
      });
      const error = await failureOf(job.setStarted({ tag: 'ingest' }));
      expect([sent, error.message]).toEqual([1, 'too many tags']);
      await job.close();
    }));

  test('a signal ends a call at once: outcome unknown after it was sent, not applied before', () =>
    runInSimulation('abort', async (world) => {
      const { job } = await open(world, { setState: never });
      const stop = new AbortController();
      const sent = failureOf(job.setStarted({ tag: 'ingest' }, { signal: stop.signal }));
      const queued = failureOf(job.setFinished({ tag: 'ingest' }, { signal: stop.signal }));
      await world.clock.sleep(10);
      const startMs = world.clock.monotonicMs();
      stop.abort();
      expect(await sent).toMatchObject({ code: 'aborted', outcome: 'unknown' });
      expect(await queued).toMatchObject({ code: 'aborted', outcome: 'not-applied' });
      expect(world.clock.monotonicMs()).toBe(startMs);
      await job.close();
    }));

  test('tags do not wait for each other; writes of one tag do', () =>
    runInSimulation('parallel', async (world) => {
      const order: string[] = [];
      const { job, store } = await open(world, {
        async setState(write) {
          order.push(`send ${write.tag} ${write.status}`);
          await world.clock.sleep(write.tag === 'slow' ? 1_000 : 10);
          order.push(`done ${write.tag} ${write.status}`);
          return store.setState(write);
        },
      });
      await Promise.all([
        job.setState({ tag: 'slow', status: 2 }),
        job.setState({ tag: 'slow', status: 3 }),
        job.setState({ tag: 'fast', status: 4 }),
      ]);
      expect(order).toEqual([
        'send slow 2',
        'send fast 4',
        'done fast 4',
        'done slow 2',
        'send slow 3',
        'done slow 3',
      ]);
      await job.close();
    }));

  test('closing waits for accepted writes until their time is up', () =>
    runInSimulation('closing', async (world) => {
      const { job, store } = await open(world, { setState: never });
      const writes = [2, 3, 4].map((status) => failureOf(job.setState({ tag: 'a', status })));
      await world.clock.sleep(10_000);
      await job.close();
      expect(world.clock.monotonicMs()).toBe(60_000);
      const endings = (await Promise.all(writes)).map(({ code, outcome }) => [code, outcome]);
      expect(endings).toEqual([
        ['timeout', 'unknown'],
        ['timeout', 'not-applied'],
        ['timeout', 'not-applied'],
      ]);
      await store.close();
      expect(world.node.pendingTimersCount).toBe(0);
    }));
});

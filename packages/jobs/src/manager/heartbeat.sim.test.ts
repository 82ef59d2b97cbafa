import { type Logger, SynclineError, silentLogger } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { describe, expect, test, vi } from 'vitest';
import { overrideStore } from '../conformance/override-store.js';
import { createMemoryJobStore } from '../embedded/embedded-adapter.js';
import type { LeaseRequest } from '../job.js';
import type { JobStore } from '../job-store.js';
import type { JobManagerOptions } from './create-job-manager.js';
import { createJobManager } from './create-job-manager.js';

interface Beat {
  readonly action: LeaseRequest['action'];
  readonly atMs: number;
}

/** A store that records lease requests, and replies with the result of `answer` if it returns something. */
function watched(world: SimulatedBody, answer: () => Promise<never> | undefined = () => undefined) {
  const store = createMemoryJobStore(world);
  const beats: Beat[] = [];
  const lease: JobStore['lease'] = (request, call) => {
    beats.push({ action: request.action, atMs: world.clock.monotonicMs() });
    return (request.action === 'renew' ? answer() : undefined) ?? store.lease(request, call);
  };
  return { store, beats, target: { store: overrideStore(store, { lease }), ...names } };
}

const names = { jobId: 'job', taskIndex: 0, numTasks: 1 };
type Options = JobManagerOptions<Record<never, never>, Record<never, never>>;

const renewalsOf = (beats: readonly Beat[]) =>
  beats.filter(({ action }) => action === 'renew').map(({ atMs }) => Math.round(atMs));

describe('the heartbeat of a manager', () => {
  test('renews every third of the time, and releases at the end', () =>
    runInSimulation('thirds', async (world) => {
      const { beats, target } = watched(world);
      const startMs = world.clock.monotonicMs();
      const job = await createJobManager(target, { lease: { ttlMs: 3_000 } }, world);
      await world.clock.sleep(3_500);
      await job.close();
      expect(renewalsOf(beats).map((atMs) => atMs - startMs)).toEqual([1_000, 2_000, 3_000]);
      expect(beats.map(({ action }) => action)).toEqual([
        'claim',
        'renew',
        'renew',
        'renew',
        'release',
      ]);
    }));

  test.each<[string, Options]>([
    ['lease: false', { lease: false }],
    ['a manual one', { lease: { ttlMs: 3_000, heartbeat: 'manual' } }],
  ])('%s is not renewed by itself', (name, options) =>
    runInSimulation(name, async (world) => {
      const { beats, target } = watched(world);
      const job = await createJobManager(target, options, world);
      await world.clock.sleep(60_000);
      expect(renewalsOf(beats)).toEqual([]);
      await job.heartbeat();
      expect(renewalsOf(beats)).toHaveLength(1);
      await job.close();
    }),
  );

  test('a renewal that fails is tried again, logged once, and never reaches the process', () =>
    runInSimulation('failing', async (world) => {
      let isDown = true;
      const { beats, target } = watched(world, () =>
        isDown ? Promise.reject(new SynclineError('unavailable', 'connection refused')) : undefined,
      );
      const warn = vi.fn();
      const info = vi.fn();
      const log: Logger = { ...silentLogger, warn, info, child: () => log };
      const job = await createJobManager(target, { lease: { ttlMs: 30_000 }, log }, world);
      await world.clock.sleep(45_000);
      expect(renewalsOf(beats).length).toBeGreaterThan(4 * 5);
      isDown = false;
      await world.clock.sleep(10_000);
      const fields = { error: 'unavailable', reason: 'connection refused' };
      expect(warn.mock.calls).toEqual([['🟡 cannot reach the job store, retrying', fields]]);
      expect(info).toHaveBeenCalledOnce();
      await job.close();
    }));

  test('a renewal that hangs, or fails unexpectedly, does not stop the next', () =>
    runInSimulation('hanging', async (world) => {
      let count = 0;
      const { store, beats, target } = watched(world, () => {
        count += 1;
        if (count === 1) return new Promise<never>(() => {});
        return count === 2 ? Promise.reject(new TypeError('a bug of the store')) : undefined;
      });
      const job = await createJobManager(target, { lease: { ttlMs: 30_000 } }, world);
      await world.clock.sleep(35_000);
      expect(renewalsOf(beats).length).toBeGreaterThanOrEqual(4);
      await job.close();
      await store.close();
      expect(world.node.pendingTimersCount).toBe(0);
    }));

  test('J13 a newer claim stops it, and the manager refuses every call', () =>
    runInSimulation('fenced', async (world) => {
      const { store, beats, target } = watched(world);
      const job = await createJobManager(target, { lease: { ttlMs: 3_000 } }, world);
      const newer = await createJobManager({ store, ...names }, { lease: false }, world);
      await world.clock.sleep(10_000);
      expect(renewalsOf(beats)).toHaveLength(1);
      await expect(job.getProgress()).rejects.toMatchObject({ code: 'fenced' });
      await job.close();
      expect(beats.at(-1)?.action).toBe('renew'); // nothing is released that belongs to another process
      await newer.close();
    }));

  test('J18 a manager that is paused is lost, and held again with its next renewal', () =>
    runInSimulation('paused', async (world) => {
      let isDown = false;
      const { store, target } = watched(world, () =>
        isDown ? new Promise<never>(() => {}) : undefined,
      );
      const job = await createJobManager(target, { lease: { ttlMs: 3_000 } }, world);
      await job.setStarted({ tag: 'ingest' });
      isDown = true;
      await world.clock.sleep(4_100);
      expect((await store.aggregate('job', {})).lostTasks).toBe(1);
      isDown = false;
      await world.clock.sleep(2_000);
      expect((await store.aggregate('job', {})).lostTasks).toBe(0);
      await job.close();
    }));

  test('J21 after close() no timer, call or iterator is left', () =>
    runInSimulation('close', async (world) => {
      const timersBefore = world.node.pendingTimersCount;
      const { store, target } = watched(world);
      const job = await createJobManager(target, {}, world);
      await job.setStarted({ tag: 'ingest' });
      const loops = [1, 2, 3].map(async () => {
        for await (const _event of job.subscribe()) await world.clock.sleep(1);
      });
      const unread = job.subscribe();
      const waiting = expect(job.waitFor({}, () => false)).rejects.toMatchObject({
        code: 'closed',
      });
      await world.clock.sleep(100);
      await job.close();
      await Promise.all([...loops, waiting]);
      for await (const event of unread) expect.unreachable(event.kind);
      await world.clock.sleep(10); // their last events
      await store.close();
      expect(world.node.pendingTimersCount).toBe(timersBefore);
    }));
});

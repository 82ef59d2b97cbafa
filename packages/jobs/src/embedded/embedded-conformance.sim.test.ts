// The embedded store passes the suite of every job store, over a simulated disk with delays.
import type { Storage } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { describe, expect, inject, test } from 'vitest';
import { jobStoreSuite } from '../conformance/job-store-suite.js';
import { TimerCount } from '../conformance/timer-count.js';
import { openEmbeddedJobStore } from './embedded-adapter.js';

declare module 'vitest' {
  interface ProvidedContext {
    jobsHistories: number;
  }
}

describe('the embedded store is a job store', () => {
  let world: SimulatedBody | undefined;
  const cases = jobStoreSuite({
    name: 'embedded',
    capabilities: {
      history: 'all',
      reads: 'linearizable',
      durability: 'synced',
      lost: 'store',
    },
    time: 'simulated',
    histories: Math.ceil(inject('jobsHistories') / 10),
    pendingTimers: ({ pendingTimers }) => pendingTimers(),
    create: async () => {
      if (!world) throw new Error('a case runs inside a simulation');
      const clock = new TimerCount(world.clock);
      const storage: Storage = await world.openStorage('jobs');
      const store = await openEmbeddedJobStore({ ...world, clock, storage });
      const pendingTimers = () => clock.pending;
      return {
        store,
        clock: world.clock,
        pendingTimers,
        [Symbol.asyncDispose]: async () => {
          await store.close();
          await storage.close();
        },
      };
    },
    faults: { stepClock: (_, ms) => world?.node.clock.step(ms) },
  });
  for (const { name, run } of cases.filter(({ skipped }) => skipped === undefined)) {
    test(name, () =>
      runInSimulation(name, async (body) => {
        world = body;
        await run();
      }),
    );
  }

  test('cases with faults of the disk and compaction run in embedded-histories.sim.test.ts', () => {
    expect(cases.flatMap(({ name, skipped }) => (skipped === undefined ? [] : [name]))).toEqual([
      'left out, faults.compact is not given: J9 a cursor below what was compacted gets a gap and the latest of each key',
      'left out, faults.compact is not given: a new replay after compaction is complete',
      'left out, faults.cut is not given: histories in which subscribers lose their connections',
      'left out, faults.compact is not given: histories in which replaced changes go away',
      'left out, faults.stall is not given: histories in which everything takes its time',
      'left out, faults.restart is not given: histories in which the store is restarted',
    ]);
  });
});

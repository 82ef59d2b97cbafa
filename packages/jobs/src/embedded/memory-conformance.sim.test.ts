// The memory store passes the suite of every job store.
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { describe, expect, inject, test } from 'vitest';
import { jobStoreSuite } from '../conformance/job-store-suite.js';
import { TimerCount } from '../conformance/timer-count.js';
import { createMemoryJobStore } from './embedded-adapter.js';

declare module 'vitest' {
  interface ProvidedContext {
    jobsHistories: number;
  }
}

let world: SimulatedBody | undefined;

describe('the memory store is a job store', () => {
  const cases = jobStoreSuite({
    name: 'memory',
    capabilities: createMemoryJobStore().capabilities,
    time: 'simulated',
    pendingTimers: ({ pendingTimers }) => pendingTimers(),
    histories: Math.ceil(inject('jobsHistories') / 5),
    create: async () => {
      if (!world) throw new Error('a case runs inside a simulation');
      const clock = new TimerCount(world.clock);
      const store = createMemoryJobStore({ ...world, clock });
      const pendingTimers = () => clock.pending;
      return {
        store,
        clock: world.clock,
        pendingTimers,
        [Symbol.asyncDispose]: () => store.close(),
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

  test('compaction runs in embedded-histories.sim.test.ts; there is neither disk nor network', () => {
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

// The memory store keeps what every job store keeps.
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { describe, inject, test } from 'vitest';
import { jobStoreSuite } from '../conformance/job-store-suite.js';
import { TimerCount } from '../conformance/timer-count.js';
import { createMemoryJobStore } from './create-memory-job-store.js';

declare module 'vitest' {
  interface ProvidedContext {
    jobsHistories: number;
  }
}

describe('the memory store is a job store', () => {
  let world: SimulatedBody | undefined;
  const cases = jobStoreSuite({
    name: 'memory',
    capabilities: createMemoryJobStore().capabilities,
    time: 'simulated',
    histories: inject('jobsHistories'),
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
  for (const { name, run } of cases) {
    test(name, () =>
      runInSimulation(name, async (body) => {
        world = body;
        await run();
      }),
    );
  }
});

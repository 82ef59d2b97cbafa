// The plain store keeps what it is the measure of.
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { describe, inject, test } from 'vitest';
import { jobStoreSuite } from '../job-store-suite.js';
import { TimerCount } from '../timer-count.js';
import { createReferenceJobStore, type ReferenceJobStore } from './reference-store.js';

declare module 'vitest' {
  interface ProvidedContext {
    jobsHistories: number;
  }
}

describe('the reference store is a job store', () => {
  let world: SimulatedBody | undefined;
  const cases = jobStoreSuite({
    name: 'reference',
    capabilities: createReferenceJobStore().capabilities,
    time: 'simulated',
    pendingTimers: ({ pendingTimers }) => pendingTimers(),
    histories: Math.ceil(inject('jobsHistories') / 10),
    create: async () => {
      if (!world) throw new Error('a case runs inside a simulation');
      const clock = new TimerCount(world.clock);
      const store: ReferenceJobStore = createReferenceJobStore({ clock });
      const pendingTimers = () => clock.pending;
      return {
        store,
        clock: world.clock,
        pendingTimers,
        [Symbol.asyncDispose]: () => store.close(),
      };
    },
    faults: {
      compact: ({ store }) => store.compact(),
      stepClock: (_, ms) => world?.node.clock.step(ms),
    },
  });
  for (const { name, run, skipped } of cases) {
    test.skipIf(skipped !== undefined)(name, () =>
      runInSimulation(name, async (body) => {
        world = body;
        await run();
      }),
    );
  }
});

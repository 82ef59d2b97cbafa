// The embedded store keeps what every job store keeps, over a simulated disk that takes its time.
import type { Storage } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { describe, test } from 'vitest';
import { jobStoreSuite } from '../conformance/job-store-suite.js';
import { TimerCount } from '../conformance/timer-count.js';
import { openEmbeddedJobStore } from './open-embedded-job-store.js';

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
  for (const { name, run, skipped } of cases) {
    test.skipIf(skipped !== undefined)(name, () =>
      runInSimulation(name, async (body) => {
        world = body;
        await run();
      }),
    );
  }
});

// The reference store passes the suite that it is the reference for.
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { describe, expect, inject, test } from 'vitest';
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
    histories: Math.ceil(inject('jobsHistories') / 40),
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
  for (const { name, run } of cases.filter(({ skipped }) => skipped === undefined)) {
    test(name, () =>
      runInSimulation(name, async (body) => {
        world = body;
        await run();
      }),
    );
  }

  test('only faults that a store without disk and network cannot have are left out', () => {
    expect(cases.flatMap(({ name, skipped }) => (skipped === undefined ? [] : [name]))).toEqual([
      'left out, faults.cut is not given: histories in which subscribers lose their connections',
      'left out, faults.stall is not given: histories in which everything takes its time',
      'left out, faults.restart is not given: histories in which the store is restarted',
    ]);
  });
});

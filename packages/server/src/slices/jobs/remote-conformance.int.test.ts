// The remote store passes the suite of every job store, over real sockets and a real server.
import { createMemoryJobStore } from '@syncline/jobs';
import { jobStoreSuite } from '@syncline/jobs/testing';
import { startFaultProxy } from '@syncline/testkit';
import { describe, expect, inject, test } from 'vitest';
import { startRemoteJobs } from '../../testing/remote-jobs.js';

declare module 'vitest' {
  interface ProvidedContext {
    jobsHistories: number;
  }
}

describe('the remote store is a job store', () => {
  const cases = jobStoreSuite({
    name: 'remote',
    histories: Math.ceil(inject('jobsHistories') / 10),
    create: () => startRemoteJobs(createMemoryJobStore(), startFaultProxy),
    capabilities: { history: 'all', reads: 'linearizable', durability: 'synced', lost: 'store' },
    pendingTimers: ({ pendingTimers }) => pendingTimers(),
    faults: {
      cut: ({ proxy }) => proxy.resetConnections(),
      async stall({ proxy, clock }) {
        proxy.set({ latencyMs: 20, jitterMs: 20 });
        await clock.sleep(50);
        proxy.heal();
      },
    },
  });
  for (const { name, run } of cases.filter(({ skipped }) => skipped === undefined)) test(name, run);

  test('compaction, restarts and clocks belong to the store behind, which has its own tests', () => {
    expect(cases.flatMap(({ name, skipped }) => (skipped === undefined ? [] : [name]))).toEqual([
      'left out, faults.compact is not given: J9 a cursor below what was compacted gets a gap and the latest of each key',
      'left out, faults.compact is not given: a new replay after compaction is complete',
      'left out, faults.stepClock is not given: J19 timestamps never fall, although the clock steps back and forth',
      'left out, faults.compact is not given: histories in which replaced changes go away',
      'left out, faults.restart is not given: histories in which the store is restarted',
      'left out, faults.stepClock is not given: histories in which the clock steps',
    ]);
  });
});

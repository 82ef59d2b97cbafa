// The remote store keeps what every job store keeps, over real sockets and a real server.
import { createMemoryJobStore } from '@syncline/jobs';
import { jobStoreSuite } from '@syncline/jobs/testing';
import { startFaultProxy } from '@syncline/testkit';
import { describe, inject, test } from 'vitest';
import { startRemoteJobs } from '../../testing/remote-jobs.js';

declare module 'vitest' {
  interface ProvidedContext {
    jobsHistories: number;
  }
}

describe('the remote store is a job store', () => {
  const cases = jobStoreSuite({
    name: 'remote',
    histories: inject('jobsHistories') / 10, // in real time: a second each
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
  for (const { name, run, skipped } of cases) test.skipIf(skipped !== undefined)(name, run);
});

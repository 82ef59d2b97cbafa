// The remote store keeps what every job store keeps, over real sockets and a real server.
import { createMemoryJobStore } from '@syncline/jobs';
import { jobStoreSuite } from '@syncline/jobs/testing';
import { startFaultProxy } from '@syncline/testkit';
import { describe, test } from 'vitest';
import { startRemoteJobs } from '../../testing/remote-jobs.js';

describe('conformance', () => {
  const cases = jobStoreSuite({
    name: 'remote',
    create: () => startRemoteJobs(createMemoryJobStore(), startFaultProxy),
    capabilities: { history: 'all', reads: 'linearizable', durability: 'synced', lost: 'store' },
    faults: {
      cut: ({ proxy }) => proxy.resetConnections(),
      async stall({ proxy, clock }) {
        proxy.set({ latencyMs: 20, jitterMs: 20 });
        await clock.sleep(50);
        proxy.heal();
      },
    },
  });
  for (const { name, run } of cases) test(name, run);
});

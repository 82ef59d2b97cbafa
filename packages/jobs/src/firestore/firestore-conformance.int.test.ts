// The Firestore store keeps what every job store keeps: the real client against the emulator behind the gate,
// whose streams are cut, whose answers are late, and whose client is closed and opened again.
import { createSystemClock } from '@syncline/kernel';
import { startFirestore, type TestFirestore } from '@syncline/testkit';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { jobStoreSuite } from '../conformance/job-store-suite.js';
import { TimerCount } from '../conformance/timer-count.js';
import { createFirestoreJobStore } from './create-firestore-job-store.js';

const STALL_MS = 30;

describe('the Firestore store is a job store', () => {
  let server: TestFirestore;
  beforeAll(async () => {
    server = await startFirestore();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  let projectsCount = 0;
  const cases = jobStoreSuite({
    name: 'firestore',
    capabilities: { history: 'latest', reads: 'cached', durability: 'synced', lost: 'reader' },
    create: async () => {
      projectsCount += 1;
      const projectId = `test-${projectsCount}`; // an empty database
      const clock = new TimerCount(createSystemClock());
      const options = { ...server.settings, projectId, pollMs: 100, reconnect: { initialMs: 10 } };
      const open = () => createFirestoreJobStore(options, { clock });
      const subject = { store: open(), open, clock, pendingTimers: () => clock.pending };
      const dispose = () => subject.store.close();
      return Object.assign(subject, { [Symbol.asyncDispose]: dispose });
    },
    faults: {
      cut: () => server.gate.cutStreams(),
      stall: async ({ clock }) => {
        server.gate.setFaults({ delayMs: STALL_MS });
        await clock.sleep(2 * STALL_MS);
        server.gate.setFaults({});
      },
      restart: async (subject) => {
        await subject.store.close();
        subject.store = subject.open();
      },
    },
  });
  for (const { name, run } of cases) test(name, run);
});

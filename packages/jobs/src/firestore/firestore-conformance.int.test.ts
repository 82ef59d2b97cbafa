// The Firestore store keeps what every job store keeps: the real client against the emulator behind the gate,
// whose streams are cut, whose answers are late, and whose client is closed and opened again.
//
// Every case has an emulator of its own, which costs a millisecond, so that cases can run side by side: most of
// their time they wait.
import { createSystemClock } from '@syncline/kernel';
import { startFirestore } from '@syncline/testkit/firestore';
import { describe, expect, inject, test } from 'vitest';
import { jobStoreSuite } from '../conformance/job-store-suite.js';
import { TimerCount } from '../conformance/timer-count.js';
import { createFirestoreJobStore } from './firestore-job-store.js';

declare module 'vitest' {
  interface ProvidedContext {
    jobsHistories: number;
  }
}

const STALL_MS = 30;
const quick = { pollMs: 1_000, reconnect: { initialMs: 10 } };

const cases = jobStoreSuite({
  name: 'firestore',
  capabilities: { history: 'latest', reads: 'cached', durability: 'synced', lost: 'reader' },
  histories: Math.ceil(inject('jobsHistories') / 10),
  pendingTimers: ({ pendingTimers }) => pendingTimers(),
  historyStepsMax: 4, // each takes several calls of some milliseconds
  create: async () => {
    const server = await startFirestore();
    const clock = new TimerCount(createSystemClock());
    const options = { projectId: 'test', ...server.settings, ...quick };
    const open = () => createFirestoreJobStore(options, { clock });
    const subject = { store: open(), open, clock, server, pendingTimers: () => clock.pending };
    const dispose = async () => {
      await subject.store.close();
      await server[Symbol.asyncDispose]();
    };
    return Object.assign(subject, { [Symbol.asyncDispose]: dispose });
  },
  faults: {
    cut: ({ server }) => server.gate.cutStreams(),
    stall: async ({ clock, server }) => {
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

describe('the Firestore store is a job store', () => {
  for (const { name, run } of cases.filter(({ skipped }) => skipped === undefined))
    test.concurrent(name, run);

  test('it has no history to compact, and the clock of Firestore cannot be set', () => {
    expect(cases.flatMap(({ name, skipped }) => (skipped === undefined ? [] : [name]))).toEqual([
      'left out, the store keeps the latest changes alone: J9 a cursor below what was compacted gets a gap and the latest of each key',
      'left out, the store keeps the latest changes alone: a new replay after compaction is complete',
      'left out, faults.stepClock is not given: J19 timestamps never fall, although the clock steps back and forth',
      'left out, faults.compact is not given: histories in which replaced changes go away',
      'left out, faults.stepClock is not given: histories in which the clock steps',
    ]);
  });
});

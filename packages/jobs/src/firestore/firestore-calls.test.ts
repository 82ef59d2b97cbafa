// What the Firestore client throws, as our errors; a bounded number of calls at once; and what a user may set.
import type { Firestore } from '@google-cloud/firestore';
import { SynclineError } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { isContention } from '../core/refusals.js';
import { withSystemDeps } from '../engine/store-adapter.js';
import { jobsLimits } from '../limits.js';
import { FirestoreCalls, firestoreError } from './firestore-calls.js';
import { checkFirestoreOptions } from './firestore-job-store.js';

const thrown = (code: number, message = 'story') => Object.assign(new Error(message), { code });

test.each([
  [8, 'overloaded'],
  [14, 'unavailable'],
  [4, 'unavailable'],
  [undefined, 'unavailable'],
])('status %s is %s, and a commit that may have arrived says so', (code, wanted) => {
  const error = firestoreError('the write', code ? thrown(code) : 'text', 'unknown');
  expect(error).toMatchObject({ code: wanted, retryable: true, outcome: 'unknown' });
  expect(error.message).toContain('the write');
  expect(isContention(error)).toBe(false);
});

test.each([3, 5, 9])('status %s is a refusal, which a retry would not change', (code) => {
  const error = firestoreError('the write', thrown(code), 'unknown');
  expect(error).toMatchObject({ retryable: false, details: { reason: 'refused' } });
});

test.each([7, 16])('status %s is a refusal of the credentials, and says what to set', (code) => {
  const error = firestoreError('the write', thrown(code), 'unknown');
  const details = { reason: 'credentials' };
  expect(error).toMatchObject({ code: 'unavailable', retryable: false, details });
  expect(error.message).toContain('GOOGLE_APPLICATION_CREDENTIALS');
});

test('a transaction that was overtaken, or was committed before, is worth another try', () => {
  const expired = 'The referenced transaction has expired or is no longer valid.';
  expect(isContention(firestoreError('the write', thrown(10), 'unknown'))).toBe(true);
  expect(isContention(firestoreError('the write', thrown(3, expired), 'unknown'))).toBe(true);
  expect(isContention(firestoreError('the write', thrown(3), 'unknown'))).toBe(false);
});

test('what is ours already stays as it is', () => {
  const own = new SynclineError('fenced', 'a newer claim');
  expect(firestoreError('the write', own, 'unknown')).toBe(own);
});

function callsAtOnce(concurrencyMax: number): FirestoreCalls {
  const firestore = { terminate: async () => {} } as Firestore;
  const deps = { firestore, authenticate: async () => {}, ...withSystemDeps({}) };
  const options = { projectId: 'p', concurrencyMax, callTimeoutMs: 60_000 };
  return new FirestoreCalls(deps, checkFirestoreOptions(options));
}

test('no more calls than allowed are in flight, and all of them run, even after failures', async () => {
  const calls = callsAtOnce(2);
  let running = 0;
  let most = 0;
  const call = async (index: number) => {
    running += 1;
    most = Math.max(most, running);
    await Promise.resolve();
    running -= 1;
    if (index === 1) throw new Error('one fails');
    return index;
  };
  const answers = await Promise.allSettled(
    Array.from({ length: 6 }, (_, index) => calls.read('a call', () => call(index))),
  );
  expect(most).toBe(2);
  expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
  await calls.close();
});

test('J20 no more calls wait than the limit, and one that is aborted leaves its place', async () => {
  const { value: waitingMax } = jobsLimits.firestoreCallsWaitingMax;
  const calls = callsAtOnce(1);
  const stops: AbortController[] = [];
  let ran = 0;
  const never = () => {
    const stop = new AbortController();
    stops.push(stop);
    return calls.read('a call', () => new Promise<never>(() => (ran += 1)), stop);
  };
  const waiting = Array.from({ length: 1 + waitingMax }, never);
  const ends = Promise.allSettled(waiting);
  await expect(never()).rejects.toMatchObject({
    code: 'overloaded',
    details: { limit: 'firestoreCallsWaitingMax' },
  });
  for (const stop of stops) stop.abort();
  expect((await ends).every(({ status }) => status === 'rejected')).toBe(true);
  expect(ran).toBe(1);
});

test('the defaults are those of the contract', () => {
  expect(checkFirestoreOptions({ projectId: 'p' })).toMatchObject({
    concurrencyMax: Number.POSITIVE_INFINITY,
    reconnect: { attempts: 5, initialMs: 1_000, maxMs: 60_000 },
    pollMs: 15_000,
    reachTimeoutMs: 5_000,
  });
});

test.each([
  ['projectId', { projectId: '' }],
  ['concurrencyMax', { projectId: 'p', concurrencyMax: 0 }],
  ['pollMs', { projectId: 'p', pollMs: Number.NaN }],
  ['reconnect.attempts', { projectId: 'p', reconnect: { attempts: 0 } }],
])('J20 a wrong %s is refused by its name', (field, options) => {
  expect(() => checkFirestoreOptions(options)).toThrow(
    expect.objectContaining({ code: 'invalid-argument', details: { field } }),
  );
});

// What the Firestore client throws, as our errors.
import { SynclineError } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { firestoreError, isContention } from './firestore-errors.js';

const thrown = (code: number, message = 'story') => Object.assign(new Error(message), { code });

test.each([
  [7, 'unauthenticated'],
  [16, 'unauthenticated'],
  [8, 'overloaded'],
  [14, 'unavailable'],
  [4, 'unavailable'],
  [3, 'unavailable'],
  [9, 'unavailable'],
  [undefined, 'unavailable'],
])('status %s is %s', (code, wanted) => {
  const error = firestoreError('the write', code ? thrown(code) : 'text', 'unknown');
  expect(error.code).toBe(wanted);
  expect(error.message).toContain('the write');
  expect(isContention(error)).toBe(false);
});

test.each([3, 5, 9])('status %s is a refusal: the same again would fare no better', (code) => {
  const error = firestoreError('the write', thrown(code), 'unknown');
  expect(error).toMatchObject({ retryable: false, details: { reason: 'refused' } });
  expect(error.message).not.toContain('reached');
});

test('a commit that may have arrived says so', () => {
  expect(firestoreError('the write', thrown(14), 'unknown').outcome).toBe('unknown');
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

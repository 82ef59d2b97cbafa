// What a user may set of the Firestore store.
import { expect, test } from 'vitest';
import { checkFirestoreOptions } from './firestore-options.js';

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

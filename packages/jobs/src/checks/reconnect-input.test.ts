import { expect, test } from 'vitest';
import { createRemoteJobStore } from '../grpc/remote-job-store.js';
import { checkReconnect } from '../reconnect.js';

const address = '127.0.0.1:7401';

test('omitted or undefined options have their defaults', () => {
  const usual = { attempts: 5, initialMs: 1_000, maxMs: 60_000 };
  expect(checkReconnect()).toEqual(usual);
  const unset = { attempts: undefined, initialMs: 5 } as unknown as { initialMs: number };
  expect(checkReconnect(unset)).toEqual({ ...usual, initialMs: 5 });
});

test.each([
  ['reconnect', 'often'],
  ['reconnect.attempts', { attempts: 0 }],
  ['reconnect.attempts', { attempts: Number.NaN }],
  ['reconnect.attempts', { attempts: 1_000_001 }],
  ['reconnect.initialMs', { initialMs: -1 }],
  ['reconnect.initialMs', { initialMs: 'x' }],
  ['reconnect.maxMs', { maxMs: 0 }],
  ['reconnect.maxMs', { maxMs: 86_400_001 }],
])('J20 the remote store refuses a wrong %s by its name: %o', (field, given) => {
  const reconnect = given as { attempts: number };
  expect(() => createRemoteJobStore({ address, reconnect })).toThrow(
    expect.objectContaining({ code: 'invalid-argument', details: { field } }),
  );
});

test('J20 the remote store refuses unknown options', () => {
  const refused = (field: string) => expect.objectContaining({ details: { field } });
  expect(() => createRemoteJobStore({ address, adress: '' } as never)).toThrow(refused('adress'));
  const reconnect = { tries: 3 } as never;
  expect(() => createRemoteJobStore({ address, reconnect })).toThrow(refused('tries'));
});

test('J20 the bounds themselves are valid', () => {
  for (const reconnect of [
    { attempts: 1, initialMs: 1, maxMs: 1 },
    { attempts: 1_000_000, initialMs: 86_400_000, maxMs: 86_400_000 },
  ]) {
    expect(checkReconnect(reconnect)).toEqual(reconnect);
  }
});

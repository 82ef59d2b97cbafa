import { expect, test } from 'vitest';
import { configConflict } from './hello-checks.js';

test('policies and hashes have their names, whether they come as numbers or as text', () => {
  const { message, code, details } = configConflict('api', 'policy', { there: 2, here: 1 });
  expect({ code, details }).toEqual({
    code: 'conflict',
    details: { field: 'policy', reason: 'config' },
  });
  expect(message).toMatch(
    /^tracker "api" is in use with a different policy \(linear there, exponential here\)\. Give/,
  );
  expect(configConflict('api', 'window_ms', { there: 2, here: 1 }).message).toContain(
    'a different windowMs (2 there, 1 here)',
  );
  expect(configConflict('api', 'hash', { there: '1', here: '2' }).message).toContain(
    '(keyed there, murmur3 here)',
  );
  expect(configConflict('api', 'levels', { there: 2, here: 1 }).message).toContain(
    '(2 there, 1 here)',
  );
});

test('secrets are not shown', () => {
  const { message } = configConflict('api', 'key_check', { there: 7n, here: 8n });
  expect(message).toContain('in use with a different secret. Give');
  expect(message).not.toMatch(/[78]/);
});

test.each([
  ['api', 'api@2'],
  ['api@2', 'api@3'],
  ['api@9', 'api@10'],
  ['api@beta', 'api@beta@2'],
  ['@2', '@2@2'],
])('the name to take after %s is %s', (tracker, next) => {
  const { message } = configConflict(tracker, 'levels', { there: 1, here: 2 });
  expect(message).toContain(`as in "${next}".`);
});

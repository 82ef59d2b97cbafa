import { expect, test } from 'vitest';
import { Secret } from '../config/secret.js';
import { createTokenCheck } from './bearer-token.js';

test('if no token is configured, every request passes', () => {
  expect(createTokenCheck(undefined)(undefined)).toBe(true);
});

test.each([
  ['Bearer s3cret', true],
  ['bearer   s3cret ', true],
  ['Bearer s3cre', false],
  ['Bearer s3cret2', false],
  ['Bearer ', false],
  ['Bearer', false],
  ['Basic s3cret', false],
  ['s3cret', false],
  ['', false],
  [undefined, false],
])('authorization %j passes: %j', (authorization, passes) => {
  expect(createTokenCheck(new Secret('s3cret'))(authorization)).toBe(passes);
});

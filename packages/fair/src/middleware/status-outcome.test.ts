import { expect, test } from 'vitest';
import { outcomeOfGrpc, outcomeOfHttp } from '../outcome.js';

test.each([
  [100, 'ignore'],
  [200, 'success'],
  [204, 'success'],
  [304, 'success'],
  [399, 'success'],
  [400, 'ignore'],
  [404, 'ignore'],
  [429, 'failure'],
  [500, 'ignore'],
  [502, 'ignore'],
  [503, 'failure'],
  [504, 'ignore'],
])('HTTP %d is %s', (statusCode, outcome) => {
  expect(outcomeOfHttp(statusCode)).toBe(outcome);
});

test.each([
  [0, false, 'success'],
  [8, false, 'failure'],
  [14, false, 'ignore'],
  [14, true, 'failure'],
  [3, true, 'ignore'],
  [13, false, 'ignore'],
])('gRPC %d, with unavailableIsFailure %s, is %s', (code, isUnavailableFailure, outcome) => {
  expect(outcomeOfGrpc(code, isUnavailableFailure)).toBe(outcome);
});

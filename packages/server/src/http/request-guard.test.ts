import { expect, test } from 'vitest';
import { createHostCheck } from './host-check.js';
import { type GuardRules, guardRequest, type RequestFacts } from './request-guard.js';

const good: RequestFacts = {
  method: 'GET',
  url: '/api/x',
  host: 'localhost:7400',
  origin: undefined,
  authorization: 'Bearer right',
  headersCount: 3,
  hostsCount: 1,
  access: 'slice',
};
const rules: GuardRules = {
  isHostAllowed: createHostCheck([]),
  isBlocked: false,
  isTokenValid: (authorization) => authorization === 'Bearer right',
  headersMax: 10,
  urlBytesMax: 20,
  isDraining: false,
};
const statusOf = (facts: Partial<RequestFacts>, changed: Partial<GuardRules> = {}) =>
  guardRequest({ ...good, ...facts }, { ...rules, ...changed })?.status;

test('a valid request passes', () => {
  expect(statusOf({})).toBeUndefined();
});

test('limits are exact: n passes, n + 1 does not', () => {
  expect(statusOf({ url: 'x'.repeat(20) })).toBeUndefined();
  expect(statusOf({ url: 'x'.repeat(21) })).toBe(414);
  expect(statusOf({ headersCount: 10 })).toBeUndefined();
  expect(statusOf({ headersCount: 11 })).toBe(431);
});

test('a foreign host is refused even with the token', () => {
  expect(statusOf({ host: 'evil.example' })).toBe(421);
  expect(statusOf({ host: undefined, access: 'open' })).toBe(421);
});

test('a page of another origin may read but not change anything', () => {
  expect(statusOf({ origin: 'http://evil.example' })).toBeUndefined();
  expect(statusOf({ origin: 'http://evil.example', method: 'POST' })).toBe(403);
  expect(statusOf({ origin: 'null', method: 'DELETE' })).toBe(403);
  expect(statusOf({ origin: 'http://localhost:7400', method: 'DELETE' })).toBeUndefined();
});

test('an origin given as an address is refused like a name', () => {
  const post = { host: '127.0.0.1:7400', method: 'POST' };
  expect(statusOf({ ...post, origin: 'http://203.0.113.5' })).toBe(403);
  expect(statusOf({ ...post, origin: 'http://[2001:db8::5]' })).toBe(403);
  expect(statusOf({ ...post, origin: 'http://127.0.0.1:3000' })).toBeUndefined();
  expect(statusOf({ ...post, host: '10.1.2.3:7400', origin: 'http://10.1.2.3' })).toBeUndefined();
});

test('two Host headers are refused', () => {
  expect(statusOf({ hostsCount: 2 })).toBe(400);
});

test('a blocked address is refused even with the token, but not on open routes', () => {
  expect(statusOf({}, { isBlocked: true })).toBe(429);
  expect(statusOf({ access: 'open' }, { isBlocked: true })).toBeUndefined();
});

test('the token is required except on open routes', () => {
  expect(statusOf({ authorization: undefined })).toBe(401);
  expect(statusOf({ authorization: undefined, access: 'token' })).toBe(401);
  expect(statusOf({ authorization: undefined, access: 'open' })).toBeUndefined();
});

test("while draining, requests to slices are refused, and the server's own routes still work", () => {
  expect(statusOf({}, { isDraining: true })).toBe(503);
  expect(statusOf({ access: 'token' }, { isDraining: true })).toBeUndefined();
  expect(statusOf({ access: 'open' }, { isDraining: true })).toBeUndefined();
});

test('refusals explain what was wrong', () => {
  const messageOf = (facts: Partial<RequestFacts>) =>
    guardRequest({ ...good, ...facts }, rules)?.error.message;
  expect(messageOf({ url: 'x'.repeat(21) })).toBe('the URL has 21 bytes; at most 20 are allowed');
  expect(messageOf({ headersCount: 11 })).toBe(
    'the request has 11 headers; at most 10 are allowed',
  );
  expect(messageOf({ authorization: undefined })).toMatch(/^a bearer token is required\. Send /);
  expect(messageOf({ authorization: 'Bearer wrong' })).toMatch(/the bearer token is wrong\. /);
});

test('a hostile Host header is truncated in the message', () => {
  const refusal = guardRequest({ ...good, host: 'x'.repeat(10_000) }, rules);
  expect(refusal?.error.message.length).toBeLessThan(300);
});

test('the metrics token gives access to /metrics only', () => {
  const withMetrics = { isMetricsTokenValid: (sent?: string) => sent === 'Bearer metrics' };
  const asked = (access: RequestFacts['access']) =>
    statusOf({ access, authorization: 'Bearer metrics' }, withMetrics);
  expect(asked('metrics')).toBeUndefined();
  expect(asked('token')).toBe(401);
  expect(asked('slice')).toBe(401);
  expect(statusOf({ access: 'metrics' }, withMetrics)).toBeUndefined();
  expect(statusOf({ access: 'metrics', authorization: 'Bearer metrics' })).toBe(401);
});

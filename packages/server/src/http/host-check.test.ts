import { expect, test } from 'vitest';
import { createHostCheck, isSameHost, originHost } from './host-check.js';

const isAllowed = createHostCheck(['Sync.Example', '0.0.0.0']);

test.each([
  'localhost',
  'LOCALHOST:7400',
  'localhost.:7400',
  'node-1.localhost:7410',
  '127.0.0.1:7400',
  '10.1.2.3',
  '[::1]:7400',
  '[fe80::1]',
  'sync.example:7400',
])('%s is answered', (host) => {
  expect(isAllowed(host, 'host')).toBe(true);
});

test.each([
  undefined,
  '',
  'evil.example',
  'evil.example:7400',
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  'evil.example#localhost',
  'sync.example.evil.example',
  '[evil]:80',
  'a:1:2',
])('%s is refused', (host) => {
  expect(isAllowed(host, 'host')).toBe(false);
  expect(isAllowed(host, 'origin')).toBe(false);
});

test.each([
  ['localhost:3000', true],
  ['127.0.0.1:3000', true],
  ['127.1.2.3', true],
  ['[::1]:3000', true],
  ['sync.example', true],
  ['0.0.0.0', true],
  ['203.0.113.5', false],
  ['10.1.2.3:7400', false],
  ['[2001:db8::1]', false],
  ['127.evil.example', false],
])('a page of %s may change things: %s', (host, expected) => {
  expect(isAllowed(host, 'origin')).toBe(expected);
});

test('different spellings of the same host are equal', () => {
  expect(isSameHost('10.1.2.3', '10.1.2.3:7400')).toBe(true);
  expect(isSameHost('[fe80::1]:80', '[FE80::1]')).toBe(true);
  expect(isSameHost('10.1.2.3', '10.1.2.33')).toBe(false);
});

test('the host is parsed from an Origin header', () => {
  expect(originHost('http://localhost:7400')).toBe('localhost:7400');
  expect(originHost('https://evil.example')).toBe('evil.example');
  expect(originHost('null')).toBeUndefined();
});

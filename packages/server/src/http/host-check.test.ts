import { expect, test } from 'vitest';
import { createHostCheck, originHost } from './host-check.js';

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
  expect(isAllowed(host)).toBe(true);
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
  expect(isAllowed(host)).toBe(false);
});

test('the host of a page', () => {
  expect(originHost('http://localhost:7400')).toBe('localhost:7400');
  expect(originHost('https://evil.example')).toBe('evil.example');
  expect(originHost('null')).toBeUndefined();
});

import { expect, test } from 'vitest';
import { statusTarget } from './status-target.js';

test('without anything said: the server that serve starts by default', () => {
  const target = statusTarget({}, {});
  expect(target).toMatchObject({ shownUrl: 'http://127.0.0.1:7400', token: undefined });
});

test('the address follows from the settings of a server on this machine', () => {
  const url = (environment: Record<string, string>) => statusTarget({}, environment).shownUrl;
  expect(url({ SYNCLINE_HTTP_PORT: '7500' })).toBe('http://127.0.0.1:7500');
  expect(url({ SYNCLINE_LISTEN_HOST: '0.0.0.0' })).toBe('http://127.0.0.1:7400');
  expect(url({ SYNCLINE_LISTEN_HOST: '::1' })).toBe('http://[::1]:7400');
});

test('the flag wins over SYNCLINE_URL, and that over the settings', () => {
  const environment = { SYNCLINE_URL: 'http://b:1', SYNCLINE_HTTP_PORT: '7500' };
  expect(statusTarget({}, environment).shownUrl).toBe('http://b:1');
  expect(statusTarget({ url: 'http://a:1' }, environment).shownUrl).toBe('http://a:1');
});

test('a wrong URL says where it came from', () => {
  expect(() => statusTarget({}, { SYNCLINE_URL: 'ftp://b' })).toThrow(
    /^SYNCLINE_URL is "ftp:\/\/b"/,
  );
});

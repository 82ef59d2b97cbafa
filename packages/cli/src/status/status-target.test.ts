import { expect, test } from 'vitest';
import { statusTarget } from './status-target.js';

test('the default target is the server that "serve" starts by default', () => {
  const target = statusTarget({}, {});
  expect(target).toMatchObject({ shownUrl: 'http://127.0.0.1:7400', token: undefined });
});

test('the address is derived from the settings of a server on this machine', () => {
  const url = (environment: Record<string, string>) => statusTarget({}, environment).shownUrl;
  expect(url({ SYNCLINE_HTTP_PORT: '7500' })).toBe('http://127.0.0.1:7500');
  expect(url({ SYNCLINE_LISTEN_HOST: '0.0.0.0' })).toBe('http://127.0.0.1:7400');
  expect(url({ SYNCLINE_LISTEN_HOST: '::1' })).toBe('http://[::1]:7400');
});

test('the flag overrides SYNCLINE_URL, which overrides the settings', () => {
  const environment = { SYNCLINE_URL: 'http://b:1', SYNCLINE_HTTP_PORT: '7500' };
  expect(statusTarget({}, environment).shownUrl).toBe('http://b:1');
  expect(statusTarget({ url: 'http://a:1' }, environment).shownUrl).toBe('http://a:1');
});

test('the error for an invalid URL says where it came from', () => {
  expect(() => statusTarget({}, { SYNCLINE_URL: 'ftp://b' })).toThrow(
    /^SYNCLINE_URL is "ftp:\/\/b"/,
  );
});

test('a path, which would be dropped, is refused', () => {
  for (const url of ['http://a:1/api', 'http://a:1/?x', 'http://user@a:1'])
    expect(() => statusTarget({ url }, {})).toThrow(/^--url is .* without a path\.$/);
  expect(statusTarget({ url: 'http://a:1/' }, {}).url.host).toBe('a:1');
});

test('the token is sent only over loopback or TLS', () => {
  const environment = { SYNCLINE_TOKEN: 's3cret' };
  const tokenFor = (url: string) => statusTarget({ url }, environment).token;
  for (const url of ['http://127.0.0.1:1', 'http://[::1]:1', 'http://localhost:1', 'https://a:1'])
    expect(tokenFor(url)).toBe('s3cret');
  for (const url of ['http://a:1', 'http://10.0.0.1:1', 'http://[fe80::1]:1'])
    expect(() => tokenFor(url)).toThrow(`refusing to send the token to ${url} without TLS.`);
});

test('for messages, the target knows where its URL and its token come from', () => {
  expect(statusTarget({}, {})).toMatchObject({
    urlSource: 'configuration',
    tokenSource: undefined,
  });
  const environment = { SYNCLINE_URL: 'http://127.0.0.1:1', SYNCLINE_TOKEN: 's3cret' };
  const sources = { urlSource: 'SYNCLINE_URL', tokenSource: 'SYNCLINE_TOKEN' };
  expect(statusTarget({}, environment)).toMatchObject(sources);
  expect(statusTarget({ url: 'http://[::1]:1' }, environment).urlSource).toBe('--url');
});

import { expect, test } from 'vitest';
import type { ListenerName } from '../listener.js';
import { checkExposure, exposureWarning, isLoopback, resolveListenHost } from './exposure.js';
import { resolveSettings } from './resolve-settings.js';
import { Secret } from './secret.js';
import type { ServerConfig, ServerCredentials } from './server-config.js';

const tls = { cert: 'cert', key: 'key', ca: undefined };
const mutual = { ...tls, ca: 'ca' };
const token = new Secret('t'.repeat(16));
const respPassword = new Secret('p'.repeat(16));
const meshSecret = new Secret('m'.repeat(16));

function configOf(listenHost: string, given: Partial<ServerCredentials>): ServerConfig {
  const { settings } = resolveSettings({
    flags: new Map([['listen_host', listenHost]]),
    environment: {},
    file: undefined,
  });
  const none = {
    tls: undefined,
    token: undefined,
    respPassword: undefined,
    meshSecret: undefined,
    fairRedisPassword: undefined,
  };
  return { ...settings, credentials: { ...none, ...given } };
}

test.each(['127.0.0.1', '127.8.9.1', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1', 'localhost'])(
  '%s is loopback and needs nothing',
  (host) => {
    expect(isLoopback(host)).toBe(true);
    checkExposure(configOf(host, {}), ['http', 'grpc', 'resp', 'mesh']);
  },
);

test.each(['0.0.0.0', '::', '10.0.0.1', 'fe80::1', '::ffff:10.0.0.1', 'example.com', '128.0.0.1'])(
  '%s is not loopback',
  (host) => {
    expect(isLoopback(host)).toBe(false);
    expect(() => checkExposure(configOf(host, {}), ['http'])).toThrow(host);
  },
);

const cases: readonly [ListenerName, Partial<ServerCredentials>, 'open' | 'refused'][] = [
  ['http', {}, 'refused'],
  ['http', { token }, 'refused'],
  ['http', { tls }, 'refused'],
  ['http', { tls, token }, 'open'],
  ['http', { tls: mutual }, 'open'],
  ['grpc', { token, respPassword, meshSecret }, 'refused'],
  ['grpc', { tls, respPassword, meshSecret }, 'refused'],
  ['grpc', { tls, token }, 'open'],
  ['grpc', { tls: mutual }, 'open'],
  ['resp', { tls, token, meshSecret }, 'refused'],
  ['resp', { respPassword }, 'open'],
  ['resp', { tls: mutual }, 'open'],
  ['mesh', { tls, token, respPassword }, 'refused'],
  ['mesh', { meshSecret }, 'open'],
  ['mesh', { tls: mutual }, 'open'],
];

test.each(cases)('outside loopback %s with %o is %s', (listener, given, expected) => {
  const check = () => checkExposure(configOf('0.0.0.0', given), [listener]);
  if (expected === 'open') check();
  else expect(check).toThrow(/refusing to listen on 0\.0\.0\.0 without authentication/);
});

test('only listeners that will be opened are checked', () => {
  checkExposure(configOf('0.0.0.0', { tls, token }), ['http', 'grpc']);
});

test('beyond loopback, a secret of fewer than 16 characters is refused, without showing it', () => {
  const check = (host: string, length: number) => () =>
    checkExposure(configOf(host, { tls, token: new Secret('x'.repeat(length)) }), ['http']);
  check('0.0.0.0', 16)();
  check('127.0.0.1', 1)();
  expect(check('0.0.0.0', 15)).toThrow(
    'refusing to listen on 0.0.0.0: the bearer token has fewer than 16 characters and could be guessed.',
  );
  expect(check('0.0.0.0', 15)).not.toThrow(/xxx/);
});

test('the error names each missing setting once, and never shows a secret', () => {
  const check = () => checkExposure(configOf('0.0.0.0', { meshSecret }), ['http', 'grpc', 'resp']);
  expect(check).toThrow(
    'refusing to listen on 0.0.0.0 without authentication: ' +
      'http and grpc need TLS (set tls.cert_file and tls.key_file) and a token (set auth.token_file ' +
      'or SYNCLINE_TOKEN) or client certificates (set tls.ca_file); ' +
      'resp needs a password (set resp.password_file or SYNCLINE_RESP_PASSWORD) or client certificates (set tls.ca_file). ' +
      'Or listen on 127.0.0.1; or, on a closed network, pass --insecure-listen.',
  );
});

test('a host name is resolved, and refused if any of its addresses is not loopback', async () => {
  const resolve = (...addresses: readonly string[]) =>
    resolveListenHost('localhost', async () => addresses.map((address) => ({ address })));
  const config = configOf('localhost', {});
  checkExposure(config, ['http'], await resolve('127.0.0.1', '::1'));
  const mixed = await resolve('127.0.0.1', '192.168.1.9');
  expect(() => checkExposure(config, ['http'], mixed)).toThrow(/refusing to listen on localhost/);
  expect(await resolveListenHost('10.0.0.1')).toEqual(['10.0.0.1']);
  const failing = resolveListenHost('nowhere.invalid', () =>
    Promise.reject(new Error('ENOTFOUND')),
  );
  await expect(failing).rejects.toThrow(/nowhere\.invalid/);
});

test('insecure_listen allows everything, and every start logs which listeners are open', () => {
  const config = { ...configOf('0.0.0.0', { respPassword }), insecureListen: true };
  checkExposure(config, ['http', 'resp'], ['0.0.0.0']);
  expect(exposureWarning(config, ['http', 'resp'], ['0.0.0.0'])).toMatch(/: http on 0\.0\.0\.0/);
  expect(exposureWarning(config, ['http', 'resp'], ['127.0.0.1'])).toBeUndefined();
});

import { SynclineError } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { type GrpcRemoteOptions, grpcRemote } from './grpc-remote.js';

const good = { address: '127.0.0.1:7401', tracker: 'api' } as const;

test.each<GrpcRemoteOptions>([
  good,
  { address: '[::1]:7401', tracker: 'api@2' },
  { address: 'state.internal:65535', tracker: 'a', tls: true, token: 'abc' },
  { address: 'localhost:1', tracker: 'a', token: 'abc' },
  { address: '127.0.0.1:7401', wire: 'seed' },
])('takes %o', (options) => {
  expect(grpcRemote(options)).toMatchObject({
    tracker: options.tracker ?? '',
    wire: options.wire ?? 'named',
  });
});

const wrong: readonly [string, object, RegExp][] = [
  [
    'address',
    { address: 'http://127.0.0.1:7401' },
    /address = http:\/\/127.0.0.1:7401 for the fair tracker; expected HOST:PORT/,
  ],
  ['address', { address: '127.0.0.1' }, /HOST:PORT/],
  ['address', { address: '127.0.0.1:0' }, /HOST:PORT/],
  ['address', { address: '127.0.0.1:65536' }, /HOST:PORT/],
  ['address', { address: '::1:7401' }, /in brackets/],
  ['address', { address: undefined }, /HOST:PORT/],
  ['tracker', { tracker: '' }, /1 to 64 letters/],
  ['tracker', { tracker: 'a/b' }, /1 to 64 letters/],
  ['tracker', { tracker: 'a'.repeat(65) }, /1 to 64 letters/],
  ['tracker', { tracker: 'default' }, /not default/],
  ['tracker', { wire: 'seed' }, /has no tracker names/],
  ['wire', { wire: 'plain' }, /'named' or 'seed'/],
  ['tls', { tls: { cert: 'x' } }, /together/],
  ['tls.ca', { tls: { ca: 'no certificate' } }, /tls\.ca/],
  ['token', { token: 'two words' }, /printable ASCII/],
  ['token', { token: 'abc', address: 'state.internal:7401' }, /without TLS/],
];

test.each(wrong)('refuses a wrong %s: %o', (field, change, text) => {
  const make = () => grpcRemote({ ...good, ...change });
  expect(make).toThrow(text);
  try {
    make();
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(SynclineError);
    const { code, details, message } = thrown as SynclineError;
    expect({ code, details }).toEqual({ code: 'invalid-argument', details: { field } });
    expect(message).not.toMatch(/abc|words/); // a token is a secret
  }
});

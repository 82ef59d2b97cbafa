import { expect, test } from 'vitest';
import type { StatusTarget } from './status-target.js';
import { unreachableError } from './unreachable-error.js';

const target: StatusTarget = {
  url: new URL('https://a:1'),
  shownUrl: 'https://a:1',
  urlSource: '--url',
  token: undefined,
  tokenSource: undefined,
  ca: undefined,
  cert: undefined,
  key: undefined,
  serverCert: undefined,
};

function say(code: string, message = 'raw', given: Partial<StatusTarget> = {}): string {
  const cause = Object.assign(new Error(message), { code });
  return unreachableError({ ...target, ...given }, cause).message;
}

test('--ca-file is suggested only if it would help', () => {
  expect(say('SELF_SIGNED_CERT_IN_CHAIN')).toMatch(
    /not trusted: raw\)\. Pass .* with --ca-file\.$/,
  );
  expect(say('SELF_SIGNED_CERT_IN_CHAIN', 'raw', { ca: 'pem' })).toMatch(
    /not signed by the given CA\.$/,
  );
  for (const code of ['ERR_TLS_CERT_ALTNAME_INVALID', 'CERT_HAS_EXPIRED'])
    expect(say(code)).not.toContain('--ca-file');
  expect(say('ERR_TLS_CERT_ALTNAME_INVALID')).toContain('is for a different host');
});

test('a response that is not HTTP suggests a wrong port', () => {
  const url = new URL('http://a:7402');
  const text = say('HPE_INVALID_CONSTANT', 'Parse Error: Expected HTTP/', { url });
  expect(text).toMatch(/does not speak HTTP.* HTTP is on 7400, gRPC on 7401, RESP on 7402/);
  expect(text).not.toContain('Parse Error');
});

test('a TLS alert is explained by the client certificate', () => {
  const code = 'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA';
  const raw = '80:error:0A000418:SSL routines:ssl3_read_bytes:tlsv1 alert unknown ca:rec.c:1:\n';
  expect(say(code, raw)).toContain('(it requires a client certificate)');
  expect(say(code, raw, { cert: 'pem', key: 'pem' })).toContain(
    '(it refused the TLS handshake: alert unknown ca). The client certificate was probably not',
  );
});

test('the message is one line, even if the OpenSSL error has several', () => {
  for (const code of ['EPROTO', 'CERT_UNTRUSTED', 'OTHER'])
    expect(say(code, 'first\nsecond\n')).not.toMatch(/\n|second/);
});

test('a certificate for another host: its hosts are named', () => {
  const tell = (subjectaltname: string, urlSource: StatusTarget['urlSource'] = '--url') => {
    const facts = { code: 'ERR_TLS_CERT_ALTNAME_INVALID', cert: { subjectaltname } };
    const cause = Object.assign(new Error('raw'), facts);
    return unreachableError({ ...target, urlSource }, cause).message;
  };
  expect(tell('DNS:b.internal, IP Address:10.0.0.1, URI:syncline://c/node/1')).toBe(
    'cannot reach https://a:1 (its certificate is for b.internal, 10.0.0.1). Use a host name that is in the certificate in --url.',
  );
  expect(tell('URI:x')).toContain('(its certificate is for a different host)');
  const many = Array.from({ length: 30 }, (_, at) => `DNS:h${at}`).join(', ');
  expect(tell(many, 'configuration')).toMatch(/ h9, …\)\. Pass --url with a host name/);
});

test('the advice names where the URL came from', () => {
  const plain = (urlSource: StatusTarget['urlSource']) =>
    say('EPROTO', 'wrong version number', { urlSource });
  expect(plain('--url')).toMatch(/\(it does not use TLS\)\. Use http:\/\/ in --url\.$/);
  expect(plain('SYNCLINE_URL')).toMatch(/ Use http:\/\/ in SYNCLINE_URL\.$/);
  expect(plain('configuration')).toMatch(
    /TLS\)\. The address comes from the configuration: another server seems to use this port\./,
  );
  expect(plain('configuration')).not.toContain('http://');
  expect(say('ENOTFOUND', 'raw', { urlSource: 'SYNCLINE_URL' })).toMatch(/host in SYNCLINE_URL\.$/);
  expect(say('ENOTFOUND', 'raw', { urlSource: 'configuration' })).toContain('Check listen_host');
  const url = new URL('http://a:1');
  expect(say('OTHER', 'raw', { url, urlSource: 'configuration' })).toMatch(
    / If it uses TLS, pass --url with https:\/\/\.$/,
  );
});

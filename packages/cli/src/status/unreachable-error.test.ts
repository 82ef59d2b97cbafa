import { expect, test } from 'vitest';
import type { StatusTarget } from './status-target.js';
import { unreachableError } from './unreachable-error.js';

const target: StatusTarget = {
  url: new URL('https://a:1'),
  shownUrl: 'https://a:1',
  token: undefined,
  ca: undefined,
  cert: undefined,
  key: undefined,
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
    '(it refused the TLS handshake: alert unknown ca). The certificate in tls.cert_file',
  );
});

test('the message is one line, even if the OpenSSL error has several', () => {
  for (const code of ['EPROTO', 'CERT_UNTRUSTED', 'OTHER'])
    expect(say(code, 'first\nsecond\n')).not.toMatch(/\n|second/);
});

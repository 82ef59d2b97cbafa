import type { PeerCertificate } from 'node:tls';
import { expect, test } from 'vitest';
import { addressIdentityCheck } from './address-identity.js';

const certificate = {
  subject: { CN: '127.0.0.2' },
  subjectaltname: 'DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1',
} as PeerCertificate;

test.each(['127.0.0.1', '::1'])(
  'the certificate is for %s, whatever server name was sent',
  (host) => {
    expect(addressIdentityCheck(host)?.('other.name', certificate)).toBeUndefined();
  },
);

test.each(['127.0.0.2', '::2'])('the certificate is not for %s', (host) => {
  expect(addressIdentityCheck(host)?.('localhost', certificate)).toMatchObject({
    code: 'ERR_TLS_CERT_ALTNAME_INVALID',
  });
});

test('a name needs no such check', () => {
  expect(addressIdentityCheck('localhost')).toBeUndefined();
});

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { makeCertificates, type TestCertificates } from '@syncline/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SynclineError } from '../error.js';
import { checkTlsMaterial, type TlsFlaw, type TlsMaterial } from './tls-material.js';

let certificates: TestCertificates;
beforeAll(async () => {
  certificates = await makeCertificates();
});
afterAll(() => certificates[Symbol.asyncDispose]());

/** One part is refused, with a one-sentence message. */
function expectFlaw(
  material: TlsMaterial,
  [field, reason, text]: readonly [keyof TlsMaterial, TlsFlaw, RegExp],
): void {
  let thrown: unknown;
  try {
    checkTlsMaterial(material);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(SynclineError);
  expect(thrown).toMatchObject({ code: 'invalid-argument', details: { field, reason } });
  const { message } = thrown as SynclineError;
  expect(message).toMatch(text);
  expect(message).not.toContain('\n');
}

describe('valid material', () => {
  it('certificate, key and authorities, as text and as bytes', () => {
    const { server, ca } = certificates;
    checkTlsMaterial({ cert: server.cert, key: server.key, ca: ca.cert });
    checkTlsMaterial({ cert: Buffer.from(server.cert), key: Buffer.from(server.key) });
    checkTlsMaterial({ ca: ca.cert });
    checkTlsMaterial({});
  });

  it('a chain, and text around the blocks', () => {
    const { server, ca } = certificates;
    const cert = `subject=server\n${server.cert}\r\nissuer\n${ca.cert}`;
    checkTlsMaterial({ cert, key: server.key });
  });

  it('a list of authorities in which one has expired', () => {
    const { expired, ca } = certificates;
    checkTlsMaterial({ ca: expired.cert + ca.cert });
  });
});

describe('invalid material', () => {
  it('parts that are missing', () => {
    const { cert, key } = certificates.server;
    expectFlaw({ cert }, ['key', 'missing', /^the TLS key is missing/]);
    expectFlaw({ key }, ['cert', 'missing', /^the TLS certificate is missing/]);
  });

  it('garbage', () => {
    const { cert, key } = certificates.server;
    const cut = (pem: string) => pem.replace(/\n.{20}/, '\nAAAAAAAAAAAAAAAAAAAA');
    expectFlaw({ cert: 'hello', key }, ['cert', 'not-pem', /no "BEGIN CERTIFICATE" block/]);
    expectFlaw({ cert: '', key }, ['cert', 'not-pem', /no "BEGIN CERTIFICATE" block/]);
    expectFlaw({ cert, key: '\0\0' }, ['key', 'not-pem', /no "BEGIN PRIVATE KEY" block/]);
    expectFlaw({ cert: cut(cert), key }, ['cert', 'unreadable', /cannot be read \(/]);
    expectFlaw({ cert, key: cut(key) }, ['key', 'unreadable', /cannot be read \(/]);
    expectFlaw({ ca: 'hello' }, ['ca', 'not-pem', /^the TLS CA certificate/]);
    expectFlaw({ ca: cut(cert) }, ['ca', 'unreadable', /cannot be read \(/]);
  });

  it('the name of a file instead of its text', () => {
    const { cert } = certificates.server;
    expectFlaw({ ca: 'secrets/ca.pem' }, ['ca', 'not-pem', /looks like the name of a file/]);
    expectFlaw({ cert, key: 'server.key' }, ['key', 'not-pem', /looks like the name of a file/]);
  });

  it('files that were swapped', () => {
    const { cert, key } = certificates.server;
    expectFlaw({ cert: key, key: cert }, ['cert', 'not-pem', /are the files swapped\?/]);
  });

  it('a key of another certificate', () => {
    const { cert, key } = certificates.mismatched;
    expectFlaw({ cert, key }, [
      'key',
      'mismatch',
      /does not belong to the certificate of CN=server$/,
    ]);
  });

  it('an encrypted key', async () => {
    const { cert, keyFile } = certificates.server;
    const { stdout } = await promisify(execFile)('openssl', [
      ...['pkcs8', '-topk8', '-in', keyFile, '-passout', 'pass:secret'],
    ]);
    expectFlaw({ cert, key: stdout }, ['key', 'encrypted', /without a passphrase$/]);
  });

  it('a certificate that has expired, or is not valid yet', () => {
    const { expired, server } = certificates;
    expectFlaw(expired, ['cert', 'expired', /of CN=expired expired on Feb +1 .* 2020 GMT/]);
    expectFlaw({ ca: expired.cert }, ['ca', 'expired', /of CN=expired expired on/]);
    expect(() => checkTlsMaterial(server, Date.parse('2020-01-01'))).toThrow(/is not valid before/);
  });

  it('a key that OpenSSL finds too weak', async () => {
    const { stdout } = await promisify(execFile)('openssl', [
      ...['req', '-x509', '-newkey', 'rsa:512', '-nodes', '-subj', '/CN=weak', '-keyout', '-'],
    ]);
    expectFlaw({ cert: stdout, key: stdout }, [
      'cert',
      'unreadable',
      /refused by OpenSSL \(.*small/,
    ]);
  });
});

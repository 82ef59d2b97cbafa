import { describe, expect, it } from 'vitest';
import {
  CLIENT_TRUST,
  certificateProblem,
  connectError,
  connectionError,
  connectTimeoutError,
  handshakeError,
  listenError,
} from './network-error.js';

const address = { host: '127.0.0.1', port: 7400 };
const systemError = (code: string) => Object.assign(new Error(`system says ${code}`), { code });

describe('listening', () => {
  const expected = {
    EADDRINUSE: ['address-in-use', 'the port is in use', 'choose another port'],
    EADDRNOTAVAIL: ['not-local', 'not an address of this machine', '127.0.0.1'],
    EACCES: ['not-permitted', 'permission denied', 'Choose a higher port'],
    ENOTFOUND: ['unknown-host', 'unknown host name', 'IP address'],
    EINVAL: ['other', 'system says EINVAL', ''],
  } as const;
  for (const [code, [reason, text, advice]] of Object.entries(expected)) {
    it(`${code} is reported as ${reason}`, () => {
      const error = listenError(address, systemError(code));
      expect(error).toMatchObject({ code: 'unavailable', details: { reason, address } });
      expect(error.message).toContain(`cannot listen on 127.0.0.1:7400 (${text}).`);
      expect(error.message).toContain(advice);
    });
  }
});

describe('connecting', () => {
  const expected = {
    ECONNREFUSED: ['unavailable', 'refused'],
    EHOSTUNREACH: ['unavailable', 'unreachable'],
    ENETUNREACH: ['unavailable', 'unreachable'],
    ECONNRESET: ['unavailable', 'reset'],
    ENOTFOUND: ['unavailable', 'unknown-host'],
    ETIMEDOUT: ['timeout', 'timeout'],
    EINVAL: ['unavailable', 'other'],
  } as const;
  for (const [code, [ours, reason]] of Object.entries(expected)) {
    it(`${code} is reported as ${reason}`, () => {
      const error = connectError(address, systemError(code));
      expect(error).toMatchObject({ code: ours, details: { reason, address }, retryable: true });
      expect(error.message).toContain('127.0.0.1:7400');
    });
  }

  it('a timeout says how long it waited', () => {
    expect(connectTimeoutError(address, 5_000)).toMatchObject({
      code: 'timeout',
      message: expect.stringContaining('within 5000 ms'),
    });
  });

  it('a certificate that is not trusted is not worth a retry', () => {
    const cause = new Error('certificate has expired');
    const error = handshakeError(address, cause, 'CERT_HAS_EXPIRED');
    expect(error).toMatchObject({ code: 'unauthenticated', retryable: false });
    expect(error.message).toContain('(certificate has expired)');
  });

  it('a refused handshake is reported without error numbers of OpenSSL', () => {
    const cause = Object.assign(new Error('80AC:error:0A00010B:SSL routines'), {
      code: 'ERR_SSL_WRONG_VERSION_NUMBER',
      reason: 'wrong version number',
    });
    const error = handshakeError(address, cause);
    expect(error.message).toMatch(
      /^TLS handshake with 127.0.0.1:7400 failed \(wrong version number\)\. /,
    );
    expect(handshakeError(address, systemError('ECONNRESET')).details['reason']).toBe('reset');
  });
});

it.each([
  ['unable to verify the first certificate', 'Set tls.ca to the CA that signed it.'],
  ['self-signed certificate in certificate chain', 'Set tls.ca to the CA that signed it.'],
  ['certificate has expired', 'Install a valid certificate on the server'],
  ['certificate is not yet valid', 'check the clocks of both machines'],
  [
    "Hostname/IP does not match certificate's altnames: Host: a. is not cert's CN: b",
    'Use a host name that is in the certificate, or set tls.serverName to one.',
  ],
])('a certificate that is not trusted is explained: %s', (reason, advice) => {
  const problem = certificateProblem(reason, CLIENT_TRUST) ?? '';
  expect(problem).toContain(`its certificate is not trusted (${reason}). `);
  expect(problem).toContain(advice);
});

it('an alert about a certificate is about ours; anything else is about none', () => {
  const alert =
    'error:0A00045C:SSL routines:ssl3_read_bytes:tlsv13 alert certificate required:../a.c';
  expect(certificateProblem(alert, CLIENT_TRUST)).toBe(
    'it requires a client certificate that it trusts (certificate required). Set tls.cert and tls.key.',
  );
  const handshake = 'ssl3_read_bytes:tlsv1 alert protocol version:../a.c';
  for (const reason of ['connect ECONNREFUSED 127.0.0.1:7401', handshake])
    expect(certificateProblem(reason, CLIENT_TRUST)).toBeUndefined();
});

it('after a connection broke, the outcome is unknown', () => {
  expect(connectionError(address)).toMatchObject({
    outcome: 'unknown',
    details: { reason: 'reset' },
  });
  expect(connectionError(address, systemError('EPIPE')).details['reason']).toBe('reset');
});

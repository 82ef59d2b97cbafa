// Explains why a server could not be reached, and what to do next.
import { type Outcome, SynclineError } from '@syncline/kernel';
import type { StatusTarget } from './status-target.js';

interface Explanation {
  readonly reason: string;
  readonly advice: string;
}

const START =
  'No server seems to be running there. Start one with "npx syncline serve", or pass --url.';

const BY_CODE: Readonly<Record<string, Explanation>> = {
  ECONNREFUSED: { reason: 'connection refused', advice: START },
  ENOTFOUND: { reason: 'unknown host name', advice: 'Check the host in --url.' },
  EAI_AGAIN: { reason: 'unknown host name', advice: 'Check the host in --url.' },
  EHOSTUNREACH: { reason: 'host unreachable', advice: 'Check the host in --url.' },
  ENETUNREACH: { reason: 'host unreachable', advice: 'Check the host in --url.' },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    reason: 'its certificate is for a different host',
    advice: 'Use a host name in --url that is in the certificate.',
  },
  CERT_HAS_EXPIRED: {
    reason: 'its certificate has expired',
    advice: 'Install a new certificate on the server.',
  },
  ABORT_ERR: { reason: 'timed out', advice: 'The server may be down or overloaded.' },
  ETIMEDOUT: { reason: 'timed out', advice: 'The server may be down or overloaded.' },
};

/** A read changes nothing, so its outcome is always `not-applied`; that of a change may be unknown. */
export function unreachableError(
  target: StatusTarget,
  cause: NodeJS.ErrnoException,
  outcome: Outcome = 'not-applied',
): SynclineError {
  const { reason, advice } = explain(target, cause);
  return new SynclineError(
    'unavailable',
    `cannot reach ${target.shownUrl} (${reason}). ${advice}`,
    { cause, outcome },
  );
}

function explain(target: StatusTarget, cause: NodeJS.ErrnoException): Explanation {
  const code = causeCode(cause);
  const firstLine = cause.message.split('\n')[0] ?? '';
  const reason = code === 'ECONNRESET' ? 'the connection was lost' : firstLine;
  const known = BY_CODE[code];
  if (known !== undefined) return known;
  if (/_ALERT_/.test(code)) return explainAlert(target, reason);
  if (/CERT|SELF_SIGNED|UNABLE_TO_/.test(code)) return explainDistrust(target, reason);
  if (/wrong version number|packet length too long/.test(cause.message))
    return { reason: 'it does not use TLS', advice: 'Use http:// in --url.' };
  if (code.startsWith('HPE_')) return { reason: 'it does not speak HTTP', advice: ANOTHER_PORT };
  if (target.url.protocol === 'http:')
    return { reason, advice: 'If it uses TLS, use https:// in --url.' };
  return { reason, advice: `If it does not use TLS, use http:// in --url. ${CLIENT_CERTIFICATE}` };
}

const ANOTHER_PORT =
  'It is probably another listener of the server: by default HTTP is on 7400, gRPC on 7401, RESP on 7402. ' +
  'If it uses TLS, use https:// in --url.';

const CLIENT_CERTIFICATE =
  'If it requires a client certificate, pass --config with tls.cert_file and tls.key_file.';

/** The server aborts the handshake only because of the client's certificate. */
function explainAlert({ cert }: StatusTarget, reason: string): Explanation {
  if (cert === undefined)
    return {
      reason: 'it requires a client certificate',
      advice: 'Pass --config with tls.cert_file and tls.key_file.',
    };
  const alert = /alert [a-z ]+/.exec(reason)?.[0] ?? 'alert';
  return {
    reason: `it refused the TLS handshake: ${alert}`,
    advice: 'The certificate in tls.cert_file was probably not signed by its tls.ca_file.',
  };
}

function explainDistrust({ ca }: StatusTarget, reason: string): Explanation {
  const signer =
    ca === undefined
      ? 'Pass the CA that signed it with --ca-file.'
      : 'It was not signed by the given CA.';
  return { reason: `its certificate is not trusted: ${reason}`, advice: signer };
}

/** Node tries every address of a host and throws an AggregateError if all fail; the first error is enough. */
function causeCode(cause: NodeJS.ErrnoException): string {
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
  return (first as NodeJS.ErrnoException | undefined)?.code ?? '';
}

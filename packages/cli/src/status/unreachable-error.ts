// Why a server could not be asked, in words with the next step.
import { type Outcome, SynclineError } from '@syncline/kernel';
import type { StatusTarget } from './status-target.js';

interface Explanation {
  readonly reason: string;
  readonly advice: string;
}

const START = 'Probably no server runs there. Start one with "npm start", or pass --url.';

const BY_CODE: Readonly<Record<string, Explanation>> = {
  ECONNREFUSED: { reason: 'connection refused', advice: START },
  ENOTFOUND: { reason: 'the name is unknown', advice: 'Check the host in --url.' },
  EAI_AGAIN: { reason: 'the name is unknown', advice: 'Check the host in --url.' },
  EHOSTUNREACH: { reason: 'no way to that host', advice: 'Check the host in --url.' },
  ENETUNREACH: { reason: 'no way to that host', advice: 'Check the host in --url.' },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    reason: 'its certificate is for other hosts',
    advice: 'Write a host in --url that the certificate names.',
  },
  CERT_HAS_EXPIRED: {
    reason: 'its certificate has expired',
    advice: 'Give the server a new one.',
  },
  ABORT_ERR: { reason: 'no answer in time', advice: 'The server is down, or far too busy.' },
  ETIMEDOUT: { reason: 'no answer in time', advice: 'The server is down, or far too busy.' },
};

/** A question changes nothing, so its outcome is never in doubt; that of a change may be. */
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
  const reason = cause.message.split('\n')[0] ?? '';
  const known = BY_CODE[code];
  if (known !== undefined) return known;
  if (/_ALERT_/.test(code)) return explainAlert(target, reason);
  if (/CERT|SELF_SIGNED|UNABLE_TO_/.test(code)) return explainDistrust(target, reason);
  if (/wrong version number|packet length too long/.test(cause.message))
    return { reason: 'it speaks no TLS', advice: 'Write http:// in --url.' };
  if (code.startsWith('HPE_')) return { reason: 'it does not speak HTTP', advice: ANOTHER_PORT };
  if (target.url.protocol === 'http:')
    return { reason, advice: 'If it speaks TLS, write https:// in --url.' };
  return { reason, advice: `If it speaks no TLS, write http:// in --url. ${CLIENT_CERTIFICATE}` };
}

const ANOTHER_PORT =
  'Probably it is another listener of the server: by default HTTP is on 7400, gRPC on 7401, RESP on 7402. ' +
  'If it speaks TLS, write https:// in --url.';

const CLIENT_CERTIFICATE =
  'If it demands a client certificate, pass --config with tls.cert_file and tls.key_file.';

/** The server has ended the handshake; it does so over the certificate of the client. */
function explainAlert({ cert }: StatusTarget, reason: string): Explanation {
  if (cert === undefined)
    return {
      reason: 'it demands a client certificate',
      advice: 'Pass --config with tls.cert_file and tls.key_file.',
    };
  const alert = /alert [a-z ]+/.exec(reason)?.[0] ?? 'alert';
  return {
    reason: `it refuses the TLS handshake: ${alert}`,
    advice: 'Probably its tls.ca_file has not signed the certificate in tls.cert_file.',
  };
}

function explainDistrust({ ca }: StatusTarget, reason: string): Explanation {
  const signer =
    ca === undefined
      ? 'Pass the authority that signed it with --ca-file.'
      : 'The authority that was given has not signed it.';
  return { reason: `its certificate is not trusted: ${reason}`, advice: signer };
}

/** Node tries every address of a name and then throws all failures at once; the first tells enough. */
function causeCode(cause: NodeJS.ErrnoException): string {
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
  return (first as NodeJS.ErrnoException | undefined)?.code ?? '';
}

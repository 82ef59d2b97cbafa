// Why a server could not be asked, in words with the next step.
import { SynclineError } from '@syncline/kernel';
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
  ABORT_ERR: { reason: 'no answer in time', advice: 'The server is down, or far too busy.' },
  ETIMEDOUT: { reason: 'no answer in time', advice: 'The server is down, or far too busy.' },
};

/** A request for status changes nothing, so its outcome is never in doubt. */
export function unreachableError(
  target: StatusTarget,
  cause: NodeJS.ErrnoException,
): SynclineError {
  const { reason, advice } = explain(target, cause);
  return new SynclineError(
    'unavailable',
    `cannot reach ${target.shownUrl} (${reason}). ${advice}`,
    { cause },
  );
}

function explain(target: StatusTarget, cause: NodeJS.ErrnoException): Explanation {
  const code = causeCode(cause);
  const known = BY_CODE[code];
  if (known !== undefined) return known;
  if (isCertificateProblem(code))
    return {
      reason: `its certificate is not trusted: ${cause.message}`,
      advice: 'Pass the authority that signed it with --ca-file.',
    };
  if (target.url.protocol === 'http:')
    return { reason: cause.message, advice: 'If it speaks TLS, write https:// in --url.' };
  const advice =
    target.cert === undefined
      ? 'If it speaks no TLS, write http:// in --url. If it demands a client certificate, pass --config with tls.cert_file.'
      : 'If it speaks no TLS, write http:// in --url.';
  return { reason: cause.message, advice };
}

/** Node tries every address of a name and then throws all failures at once; the first tells enough. */
function causeCode(cause: NodeJS.ErrnoException): string {
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
  return (first as NodeJS.ErrnoException | undefined)?.code ?? '';
}

function isCertificateProblem(code: string): boolean {
  return /CERT|SELF_SIGNED|ERR_TLS_CERT|UNABLE_TO_/.test(code);
}

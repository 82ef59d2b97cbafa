// Network errors of the operating system as readable messages: what failed, with which address, why, and what
// to do next. Programs read `details.reason`, from closed lists.
import { SynclineError } from '../error.js';
import { formatAddress } from './address.js';
import type { Address } from './network.js';

/** `details.reason` of a failed `listen`. */
export type ListenFailure =
  | 'address-in-use'
  | 'not-local'
  | 'not-permitted'
  | 'unknown-host'
  | 'other';

/** `details.reason` of a failed `connect`, or of a connection that broke. */
export type ConnectFailure =
  | 'refused'
  | 'unreachable'
  | 'reset'
  | 'timeout'
  | 'unknown-host'
  | 'certificate'
  | 'handshake'
  | 'other';

interface Explanation<Reason> {
  readonly reason: Reason;
  readonly text: string;
  readonly advice: string;
}

const LISTEN_FAILURES: Readonly<Record<string, Explanation<ListenFailure>>> = {
  EADDRINUSE: {
    reason: 'address-in-use',
    text: 'the port is in use',
    advice:
      'Another process is listening there, perhaps another Syncline. Stop it, or choose another port.',
  },
  EADDRNOTAVAIL: {
    reason: 'not-local',
    text: 'not an address of this machine',
    advice: 'Use 127.0.0.1, or an address that "ip addr" shows.',
  },
  EACCES: {
    reason: 'not-permitted',
    text: 'permission denied',
    advice: 'Ports below 1024 need special privileges. Choose a higher port.',
  },
  ENOTFOUND: {
    reason: 'unknown-host',
    text: 'unknown host name',
    advice: 'Check the spelling, or use an IP address.',
  },
};

const REFUSED: Explanation<ConnectFailure> = {
  reason: 'refused',
  text: 'connection refused',
  advice: 'Nothing seems to be listening there. Start the server, or check host and port.',
};
const UNREACHABLE: Explanation<ConnectFailure> = {
  reason: 'unreachable',
  text: 'host unreachable',
  advice: 'Check the address, and the network between the two machines.',
};
const UNKNOWN_HOST: Explanation<ConnectFailure> = {
  reason: 'unknown-host',
  text: 'unknown host name',
  advice: 'Check the spelling, or use an IP address.',
};
const RESET: Explanation<ConnectFailure> = {
  reason: 'reset',
  text: 'connection reset by peer',
  advice:
    'It may have stopped, refused the connection, or reached its connection limit. Try again.',
};
const TIMED_OUT: Explanation<ConnectFailure> = {
  reason: 'timeout',
  text: 'no response',
  advice: 'The host may be down, or a firewall may be dropping packets.',
};

const CONNECT_FAILURES: Readonly<Record<string, Explanation<ConnectFailure>>> = {
  ECONNREFUSED: REFUSED,
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  EADDRNOTAVAIL: UNREACHABLE,
  EHOSTDOWN: UNREACHABLE,
  ENOTFOUND: UNKNOWN_HOST,
  EAI_AGAIN: UNKNOWN_HOST,
  ECONNRESET: RESET,
  EPIPE: RESET,
  ECONNABORTED: RESET,
  ETIMEDOUT: TIMED_OUT,
};

export function listenError(address: Address, cause: Error): SynclineError {
  const known = LISTEN_FAILURES[systemCode(cause)];
  const { reason, text, advice } = known ?? { reason: 'other', text: cause.message, advice: '' };
  const message = `cannot listen on ${formatAddress(address)} (${text}). ${advice}`.trimEnd();
  return new SynclineError('unavailable', message, { details: { reason, address }, cause });
}

export function connectError(address: Address, cause: Error): SynclineError {
  const { reason, text, advice } = explain(cause);
  const message = `cannot connect to ${formatAddress(address)} (${text}). ${advice}`.trimEnd();
  return new SynclineError(reason === 'timeout' ? 'timeout' : 'unavailable', message, {
    details: { reason, address },
    cause,
  });
}

export function connectTimeoutError(address: Address, timeoutMs: number): SynclineError {
  const message = `no connection to ${formatAddress(address)} within ${timeoutMs} ms. ${TIMED_OUT.advice}`;
  return new SynclineError('timeout', message, { details: { reason: 'timeout', address } });
}

/** For a TLS handshake. `distrust` is what was wrong with the peer's certificate, if that was it. */
export function handshakeError(address: Address, cause: Error, distrust?: unknown): SynclineError {
  const where = formatAddress(address);
  if (distrust) {
    const message = `the certificate of ${where} is not trusted (${cause.message}). It must name this host, be current, and be signed by a trusted authority.`;
    const details = { reason: 'certificate', address };
    return new SynclineError('unauthenticated', message, { details, cause });
  }
  if (CONNECT_FAILURES[systemCode(cause)]) return connectError(address, cause);
  const message = `TLS handshake with ${where} failed (${openSslReason(cause)}). TLS may be off there, or it may require a client certificate.`;
  const details = { reason: 'handshake', address };
  return new SynclineError('unavailable', message, { details, cause });
}

/** For an open connection that broke. Bytes in flight may or may not have arrived. */
export function connectionError(remote: Address, cause?: Error): SynclineError {
  const { reason, text } = cause ? explain(cause) : RESET;
  return new SynclineError(
    'unavailable',
    `the connection to ${formatAddress(remote)} broke (${text})`,
    { outcome: 'unknown', details: { reason, address: remote }, cause },
  );
}

/** For a request by `fetch`, whose own message is only "fetch failed". The server may have processed the request. */
export function requestError(url: string, thrown: unknown): SynclineError {
  const cause = causeOf(thrown);
  const distrust = certificateProblem(cause.message, CLIENT_TRUST);
  if (distrust !== undefined) {
    const message = `cannot reach ${url}: ${distrust}`;
    const details = { reason: 'certificate', url };
    return new SynclineError('unauthenticated', message, { details, cause: thrown });
  }
  const { reason, text, advice } = cause.name === 'TimeoutError' ? TIMED_OUT : explain(cause);
  const message = `cannot reach ${url} (${text}). ${advice}`.trimEnd();
  return new SynclineError(reason === 'timeout' ? 'timeout' : 'unavailable', message, {
    outcome: 'unknown',
    details: { reason, url },
    cause: thrown,
  });
}

/** The names of a client's options, for advice. */
export interface TrustOptions {
  /** The CA that it trusts. */
  readonly ca: string;
  /** The name that it expects in the certificate of the server. */
  readonly name?: string;
  /** Its own certificate. */
  readonly own: string;
}

/**
 * What is wrong and what to do, if `reason` is about a certificate, in the words of Node or OpenSSL; otherwise undefined.
 * A TLS alert is the server's objection to our certificate.
 */
export function certificateProblem(
  reason: string,
  { ca, name, own }: TrustOptions,
): string | undefined {
  if (!/certificate|alert unknown ca/i.test(reason)) return undefined;
  const alert = /\balert ([a-z ]+)/.exec(reason)?.[1];
  if (alert !== undefined)
    return `it requires a client certificate that it trusts (${alert}). Set ${own}.`;
  const text = `its certificate is not trusted (${reason}).`;
  if (/altnames/.test(reason)) {
    const or = name === undefined ? '' : `, or set ${name} to one`;
    return `${text} Use a host name that is in the certificate${or}.`;
  }
  return /expired|not yet valid/.test(reason)
    ? `${text} Install a valid certificate on the server, and check the clocks of both machines.`
    : `${text} Set ${ca} to the CA that signed it.`;
}

/** The options of our own clients. */
export const CLIENT_TRUST: TrustOptions = {
  ca: 'tls.ca',
  name: 'tls.serverName',
  own: 'tls.cert and tls.key',
};

/** A host with several addresses fails with one error for each of them; the first one is enough. */
function causeOf(thrown: unknown): Error {
  const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
  return first instanceof Error ? first : new Error(String(first));
}

function explain(cause: Error): Explanation<ConnectFailure> {
  return (
    CONNECT_FAILURES[systemCode(cause)] ?? { reason: 'other', text: cause.message, advice: '' }
  );
}

/** OpenSSL's reason, without its numbers. */
export function openSslReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'reason' in error && typeof error.reason === 'string' ? error.reason : error.message;
}

/** `ECONNREFUSED` and the like. A name with several addresses fails with one error for all of them. */
function systemCode(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

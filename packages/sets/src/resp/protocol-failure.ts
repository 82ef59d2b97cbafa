// How a client can break the protocol, and what it is told before the connection closes. The texts are
// Redis's own, but for the last: Redis skips the two bytes behind a bulk string unread, so that a wrong
// length leads it out of step.

/** Behind `ERR Protocol error: `. Undefined: closed without an answer, as it is no client of ours. */
export const protocolFailures = {
  'multibulk-length': 'invalid multibulk length',
  'bulk-length': 'invalid bulk length',
  'expected-bulk': `expected '$', got`,
  'inline-too-long': 'too big inline request',
  'count-line-too-long': 'too big mbulk count string',
  'bulk-line-too-long': 'too big bulk count string',
  'unbalanced-quotes': 'unbalanced quotes in request',
  'unauthenticated-arguments': 'unauthenticated multibulk length',
  'unauthenticated-bulk': 'unauthenticated bulk length',
  'bulk-end': 'bulk without line end',
  'http-request': undefined,
  'tls-greeting': undefined,
} as const;

export type ProtocolFailureKind = keyof typeof protocolFailures;

export interface ProtocolFailure {
  readonly kind: ProtocolFailureKind;
  /** The whole error, without the dash; undefined: no answer. */
  readonly text: string | undefined;
}

/** `found` is the byte that stands where a `$` should. */
export function protocolFailure(kind: ProtocolFailureKind, found?: number): ProtocolFailure {
  const text = protocolFailures[kind];
  if (text === undefined) return { kind, text };
  const tail = found === undefined ? '' : ` '${String.fromCharCode(found)}'`;
  return { kind, text: `ERR Protocol error: ${text}${tail}` };
}

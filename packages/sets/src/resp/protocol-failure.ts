// How a client can violate the protocol, and what it is sent before the connection closes. The texts are Redis's own,
// except for the last: Redis skips the two bytes after a bulk string unread, so a wrong length makes it lose
// synchronization.

/** Follows `ERR Protocol error: `. Undefined: closed without a reply, since it is not a Redis client. */
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
  /** The complete error, without the dash; undefined: no reply. */
  readonly text: string | undefined;
}

/** `found` is the byte at the place of the `$`. */
export function protocolFailure(kind: ProtocolFailureKind, found?: number): ProtocolFailure {
  const text = protocolFailures[kind];
  if (text === undefined) return { kind, text };
  const tail = found === undefined ? '' : ` '${String.fromCharCode(found)}'`;
  return { kind, text: `ERR Protocol error: ${text}${tail}` };
}

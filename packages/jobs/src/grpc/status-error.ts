// A status of gRPC as an error: that of the server, rebuilt, or one about the way to it.
import { SynclineError } from '@syncline/kernel';
import { errorFromGrpc, type GrpcTarget, textsOf } from '@syncline/protocol';

/** What grpc-js hands out at the end of a call. */
export interface CallStatus {
  readonly code: number;
  readonly details: string;
  readonly metadata: { getMap(): Record<string, unknown> };
}

const OK = 0;

/** What grpc-js says of a request that has never left. Under other words the outcome counts as unknown. */
const NOT_SENT = /^No connection established|Waiting for LB pick/;

export function errorOfStatus(status: CallStatus | null, { address }: GrpcTarget): SynclineError {
  if (status === null) return new SynclineError('unavailable', `${address} gave no answer`);
  const { code, details } = status;
  const metadata = textsOf(status.metadata.getMap());
  const error = errorFromGrpc({ code, details, metadata });
  const isAboutTheWay = error.code === 'unavailable' || error.code === 'timeout';
  if (metadata['syncline-code'] !== undefined || !isAboutTheWay) return error;
  const story =
    error.code === 'timeout'
      ? `the job service at ${address} gave no answer in time`
      : `cannot reach the job service at ${address}`;
  return new SynclineError(error.code, `${story}: ${plainReason(details)}. ${adviceOn(details)}`, {
    details: { address },
    outcome: NOT_SENT.test(details) ? 'not-applied' : error.outcome,
    cause: error,
  });
}

export interface WriteStreamEnd {
  /** The server has taken the call: it sends headers at once. With a refusal there are none. */
  readonly isBegun: boolean;
  readonly target: GrpcTarget;
}

/**
 * For the writes of a stream that have no answer. A server that refuses the whole call says so in its own words; of any
 * other end nobody knows what was begun before.
 */
export function errorOfWriteStream(
  status: CallStatus | null,
  { isBegun, target }: WriteStreamEnd,
): SynclineError {
  const error = errorOfStatus(status?.code === OK ? null : status, target);
  if (status !== null && !isBegun && (isOurs(status) || NOT_SENT.test(status.details)))
    return error;
  const { code, message, retryable, details } = error;
  return new SynclineError(code, message, { retryable, details, outcome: 'unknown', cause: error });
}

function isOurs({ metadata }: CallStatus): boolean {
  return metadata.getMap()['syncline-code'] !== undefined;
}

/** The words of grpc-js on one line, without a note that is empty and without what it always begins with. */
function plainReason(details: string): string {
  return details
    .replace(/\s+/g, ' ')
    .replace(/ Resolution note: *$/, '')
    .replace(/^No connection established\. Last error: (?:Error: )?/, '')
    .replace(/[. ]+$/, '');
}

/** Something answers there, but not in HTTP/2. */
const OTHER_PROTOCOL = /Protocol error/;

function adviceOn(details: string): string {
  return OTHER_PROTOCOL.test(details)
    ? 'Check the port, since gRPC is on 7401 and HTTP on 7400 unless set otherwise, and TLS on both sides.'
    : 'Check that a server runs there, and TLS on both sides.';
}

export function notTheContract({ address }: GrpcTarget, cause: SynclineError): SynclineError {
  return new SynclineError(
    'unavailable',
    `${address} answers, but not as syncline.jobs.v1 says: ${cause.message}`,
    { details: { address }, retryable: false, outcome: 'unknown', cause },
  );
}

/** A read changes nothing, so nothing is unknown about it. */
export function readError(thrown: unknown): unknown {
  if (!(thrown instanceof SynclineError) || thrown.outcome === 'not-applied') return thrown;
  const { code, message, retryable, details } = thrown;
  return new SynclineError(code, message, { retryable, details, cause: thrown });
}

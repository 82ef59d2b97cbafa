// SynclineError to gRPC and back. The status is for every gRPC client; the headers in the trailing
// metadata carry the rest, so that a Syncline client rebuilds the same error.
//
// Plain values, no gRPC library: `server` and the clients hand them to theirs.
import type { SynclineError } from '@syncline/kernel';
import { ERROR_TABLE } from './error-table.js';
import { GRPC_STATUS, type GrpcStatusName } from './grpc-status.js';
import { errorFromWire, type Fallback, wireDetails, wireMessage } from './wire-error.js';

/** The shape that `@grpc/grpc-js` takes as an error, but for its Metadata class. */
export interface GrpcFailure {
  readonly code: number;
  /** gRPC's word for the message. */
  readonly details: string;
  /** Trailing metadata; all values are ASCII. */
  readonly metadata: Readonly<Record<string, string>>;
}

export function grpcFailureOf(error: SynclineError): GrpcFailure {
  const details = wireDetails(error);
  return {
    code: GRPC_STATUS[ERROR_TABLE[error.code].grpc],
    details: wireMessage(error),
    metadata: {
      'syncline-code': error.code,
      'syncline-retryable': String(error.retryable),
      'syncline-outcome': error.outcome,
      ...(details === undefined ? {} : { 'syncline-details': details }),
    },
  };
}

/** Without our metadata the status decides, and a request that may have arrived counts as unknown. */
export function errorFromGrpc(failure: GrpcFailure): SynclineError {
  const { metadata } = failure;
  const parts = {
    code: metadata['syncline-code'],
    retryable: booleanOf(metadata['syncline-retryable']),
    outcome: metadata['syncline-outcome'],
    details: detailsOf(metadata['syncline-details']),
  };
  return errorFromWire(failure.details, parts, fallbackOf(failure.code));
}

function booleanOf(text: string | undefined): boolean | undefined {
  return text === 'true' ? true : text === 'false' ? false : undefined;
}

function detailsOf(json: string | undefined): unknown {
  if (json === undefined) return undefined;
  try {
    return JSON.parse(json);
  } catch {
    return undefined; // the error still arrives, without its details
  }
}

const FALLBACKS: Readonly<Record<GrpcStatusName, Fallback>> = {
  CANCELLED: { code: 'aborted', outcome: 'unknown' },
  UNKNOWN: { code: 'unavailable', outcome: 'unknown' },
  INVALID_ARGUMENT: { code: 'invalid-argument', outcome: 'not-applied' },
  DEADLINE_EXCEEDED: { code: 'timeout', outcome: 'unknown' },
  NOT_FOUND: { code: 'not-found', outcome: 'not-applied' },
  ALREADY_EXISTS: { code: 'conflict', outcome: 'not-applied' },
  PERMISSION_DENIED: { code: 'unauthenticated', outcome: 'not-applied' },
  RESOURCE_EXHAUSTED: { code: 'overloaded', outcome: 'not-applied' },
  FAILED_PRECONDITION: { code: 'conflict', outcome: 'not-applied' },
  ABORTED: { code: 'unavailable', outcome: 'unknown' },
  OUT_OF_RANGE: { code: 'invalid-argument', outcome: 'not-applied' },
  UNIMPLEMENTED: { code: 'invalid-argument', outcome: 'not-applied' },
  INTERNAL: { code: 'unavailable', outcome: 'unknown' },
  UNAVAILABLE: { code: 'unavailable', outcome: 'unknown' },
  DATA_LOSS: { code: 'corrupt', outcome: 'unknown' },
  UNAUTHENTICATED: { code: 'unauthenticated', outcome: 'not-applied' },
};

function fallbackOf(status: number): Fallback {
  for (const [name, fallback] of Object.entries(FALLBACKS)) {
    if (GRPC_STATUS[name as GrpcStatusName] === status) return fallback;
  }
  return FALLBACKS.UNKNOWN;
}

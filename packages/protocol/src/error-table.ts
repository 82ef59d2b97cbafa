// The one table: what each error code is called by gRPC, HTTP, RESP and the shell.
//
// It is total by type, so that a slice which adds a code does not compile before it has decided all
// four. docs/ERRORS.md is made from it. The statuses are for programs that do not know Syncline; our
// own clients read the code itself, which travels beside the status.
import type { ErrorCode, SynclineError } from '@syncline/kernel';
import type { ExitCode } from './exit-codes.js';
import type { GrpcStatusName } from './grpc-status.js';

/** `MISCONF` is what Redis says when it cannot write to its disk; clients know it. */
export type RespPrefix = 'ERR' | 'MISCONF' | 'NOAUTH';

export interface ErrorRow {
  readonly grpc: GrpcStatusName;
  readonly http: number;
  readonly resp: RespPrefix;
  /** When nothing was applied. An unknown outcome always exits with 6. */
  readonly exit: ExitCode;
}

export const ERROR_TABLE: Readonly<Record<ErrorCode, ErrorRow>> = {
  'invalid-argument': { grpc: 'INVALID_ARGUMENT', http: 400, resp: 'ERR', exit: 2 },
  'limit-exceeded': { grpc: 'RESOURCE_EXHAUSTED', http: 429, resp: 'ERR', exit: 1 },
  overloaded: { grpc: 'RESOURCE_EXHAUSTED', http: 503, resp: 'ERR', exit: 1 },
  'not-found': { grpc: 'NOT_FOUND', http: 404, resp: 'ERR', exit: 4 },
  conflict: { grpc: 'FAILED_PRECONDITION', http: 409, resp: 'ERR', exit: 5 },
  fenced: { grpc: 'FAILED_PRECONDITION', http: 409, resp: 'ERR', exit: 5 },
  overflow: { grpc: 'ABORTED', http: 503, resp: 'ERR', exit: 1 },
  unavailable: { grpc: 'UNAVAILABLE', http: 503, resp: 'ERR', exit: 3 },
  timeout: { grpc: 'DEADLINE_EXCEEDED', http: 504, resp: 'ERR', exit: 3 },
  aborted: { grpc: 'CANCELLED', http: 499, resp: 'ERR', exit: 1 },
  closed: { grpc: 'UNAVAILABLE', http: 503, resp: 'ERR', exit: 1 },
  unauthenticated: { grpc: 'UNAUTHENTICATED', http: 401, resp: 'NOAUTH', exit: 1 },
  locked: { grpc: 'FAILED_PRECONDITION', http: 423, resp: 'ERR', exit: 5 },
  'storage-full': { grpc: 'RESOURCE_EXHAUSTED', http: 507, resp: 'MISCONF', exit: 1 },
  'storage-failed': { grpc: 'INTERNAL', http: 500, resp: 'MISCONF', exit: 1 },
  corrupt: { grpc: 'DATA_LOSS', http: 500, resp: 'ERR', exit: 1 },
  throttled: { grpc: 'RESOURCE_EXHAUSTED', http: 429, resp: 'ERR', exit: 1 },
  'version-conflict': { grpc: 'FAILED_PRECONDITION', http: 409, resp: 'ERR', exit: 5 },
  'bad-record': { grpc: 'INVALID_ARGUMENT', http: 422, resp: 'ERR', exit: 1 },
  'too-new': { grpc: 'FAILED_PRECONDITION', http: 409, resp: 'ERR', exit: 5 },
  incompatible: { grpc: 'FAILED_PRECONDITION', http: 409, resp: 'ERR', exit: 5 },
  'position-lost': { grpc: 'FAILED_PRECONDITION', http: 409, resp: 'ERR', exit: 1 },
  'out-of-step': { grpc: 'FAILED_PRECONDITION', http: 409, resp: 'ERR', exit: 5 },
};

/** A script must not take "maybe applied" for "failed", whatever the code was. */
export function exitCodeOf(error: SynclineError): ExitCode {
  return error.outcome === 'unknown' ? 6 : ERROR_TABLE[error.code].exit;
}

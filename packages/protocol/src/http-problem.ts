// SynclineError to an HTTP answer and back: `application/problem+json` (RFC 9457) with our members.
import type { ErrorCode, Outcome, SynclineError } from '@syncline/kernel';
import { ERROR_TABLE } from './error-table.js';
import { errorFromWire, type Fallback, isRecord, wireDetails, wireMessage } from './wire-error.js';

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

export interface HttpProblem {
  /** The code in words: `not found`. */
  readonly title: string;
  readonly status: number;
  /** The message, for people. */
  readonly detail: string;
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly outcome: Outcome;
  readonly details?: unknown;
}

export function problemOf(error: SynclineError): HttpProblem {
  const details = wireDetails(error);
  return {
    title: error.code.replaceAll('-', ' '),
    status: ERROR_TABLE[error.code].http,
    detail: wireMessage(error),
    code: error.code,
    retryable: error.retryable,
    outcome: error.outcome,
    ...(details === undefined ? {} : { details: JSON.parse(details) as unknown }),
  };
}

/** `body` is the parsed answer, or whatever else came: a proxy's page must give an error too. */
export function errorFromProblem(status: number, body: unknown): SynclineError {
  const problem = isRecord(body) ? body : {};
  const { detail, code, retryable, outcome, details } = problem;
  const message = typeof detail === 'string' ? detail : `the server responded with HTTP ${status}`;
  return errorFromWire(message, { code, retryable, outcome, details }, fallbackOf(status));
}

function fallbackOf(status: number): Fallback {
  if (status === 401 || status === 403) return { code: 'unauthenticated', outcome: 'not-applied' };
  if (status === 404) return { code: 'not-found', outcome: 'not-applied' };
  if (status === 409) return { code: 'conflict', outcome: 'not-applied' };
  if (status === 429) return { code: 'overloaded', outcome: 'not-applied' };
  if (status === 504) return { code: 'timeout', outcome: 'unknown' };
  if (status >= 500) return { code: 'unavailable', outcome: 'unknown' };
  return { code: 'invalid-argument', outcome: 'not-applied' };
}

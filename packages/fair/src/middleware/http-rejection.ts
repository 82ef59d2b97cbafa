// The response to a throttled HTTP request: `Retry-After` and a problem document (RFC 9457) whose type is
// registered with IANA. There is no quota, so no header states one; `standardHeaders` only repeats the wait
// in the form that clients of other limiters read.
import { SynclineError } from '@syncline/kernel';
import { type HttpProblem, PROBLEM_MEDIA_TYPE, problemOf } from '@syncline/protocol';
import type { Decision } from '../decision.js';

const PROBLEM_TYPES = {
  429: 'https://iana.org/assignments/http-problem-types#abnormal-usage-detected',
  503: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
} as const;

const DETAILS = {
  429: 'This caller takes more than its fair share.',
  503: 'The service has no capacity for this caller now.',
} as const;

export interface FairProblem extends HttpProblem {
  readonly type: string;
}

/** What a `handler` receives to send its own answer. */
export interface FairRejection {
  readonly statusCode: 429 | 503;
  readonly retryAfterSeconds: number;
  /** `Retry-After`, and `RateLimit` with `standardHeaders`. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body that would have been sent, as `application/problem+json`. */
  readonly problem: FairProblem;
  readonly decision: Decision;
}

export interface RejectionOptions {
  readonly statusCode?: 429 | 503;
  readonly standardHeaders?: boolean;
}

export function rejectionOf(decision: Decision, options: RejectionOptions): FairRejection {
  const { statusCode = 429, standardHeaders = false } = options;
  const { retryAfterMs } = decision;
  const retryAfterSeconds = Math.ceil(retryAfterMs / 1000);
  const rateLimit = standardHeaders ? { RateLimit: `"fair";r=0;t=${retryAfterSeconds}` } : {};
  const detail = `${DETAILS[statusCode]} Try again in ${retryAfterSeconds} s.`;
  const error = new SynclineError('throttled', detail, { details: { retryAfterMs } });
  return {
    statusCode,
    retryAfterSeconds,
    headers: { 'Retry-After': String(retryAfterSeconds), ...rateLimit },
    problem: { type: PROBLEM_TYPES[statusCode], ...problemOf(error), status: statusCode },
    decision,
  };
}

/** Headers and body of the answer that is sent without a `handler`. */
export function problemAnswer(rejection: FairRejection): {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
} {
  const headers = { ...rejection.headers, 'Content-Type': PROBLEM_MEDIA_TYPE };
  return { headers, body: JSON.stringify(rejection.problem) };
}

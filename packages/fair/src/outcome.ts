// Whether the protected resource was available, and nothing else: a request that was invalid, or that failed
// for another reason, says nothing about who takes how much.
import { SynclineError } from '@syncline/kernel';
import { ERROR_TABLE, GRPC_STATUS } from '@syncline/protocol';

const OUTCOMES = ['success', 'failure', 'ignore'] as const;

export type Outcome = (typeof OUTCOMES)[number];

function isOutcome(value: unknown): value is Outcome {
  return OUTCOMES.some((outcome) => outcome === value);
}

/**
 * The result of a user's function; if it throws or returns something else, that is reported and the outcome
 * ignored.
 */
export function outcomeFrom(classify: () => unknown, report: (cause: unknown) => void): Outcome {
  try {
    const outcome = classify();
    if (isOutcome(outcome)) return outcome;
    // An async function, perhaps: its rejection would otherwise end the process.
    if (outcome instanceof Promise) outcome.catch(report);
    throw new TypeError(
      `it returned ${String(outcome)} instead of 'success', 'failure' or 'ignore'`,
    );
  } catch (cause) {
    report(cause);
    return 'ignore';
  }
}

export type Settled<T> = PromiseSettledResult<T>;

const EXHAUSTED_HTTP_STATUSES: readonly unknown[] = [429, 503];

/** The default of `run`. */
export function classifySettled(settled: Settled<unknown>): Outcome {
  if (settled.status === 'fulfilled') return 'success';
  try {
    return isExhaustion(settled.reason) ? 'failure' : 'ignore';
  } catch {
    return 'ignore'; // a getter of the error threw; the caller must get the error itself
  }
}

/** An error that says "too many": HTTP 429 or 503, or gRPC's RESOURCE_EXHAUSTED, but not from a tracker. */
function isExhaustion(reason: unknown): boolean {
  if (typeof reason !== 'object' || reason === null || isOwnRejection(reason)) return false;
  if (reason instanceof SynclineError) {
    return ERROR_TABLE[reason.code].grpc === 'RESOURCE_EXHAUSTED';
  }
  const { status, statusCode, code } = reason as Readonly<Record<string, unknown>>;
  return (
    EXHAUSTED_HTTP_STATUSES.includes(status) ||
    EXHAUSTED_HTTP_STATUSES.includes(statusCode) ||
    code === GRPC_STATUS.RESOURCE_EXHAUSTED
  );
}

// Which answers and errors are refusals of a tracker.
//
// Two trackers may guard one thing, one by tenant and one by address. A refusal by the inner one reaches the
// outer one as a 429 or an error, yet it says nothing about the protected resource. So refusals are remembered,
// by the object that carries them, for as long as that lives.

const refused = new WeakSet();

export function markOwnRejection(answer: object): void {
  refused.add(answer);
}

export function isOwnRejection(answer: object): boolean {
  return refused.has(answer);
}

// What a status says about the protected resource: available, exhausted, or nothing at all.

const GRPC_OK = 0;

/** 2xx and 3xx are success, 429 and 503 failure; a bad request or a bug says nothing. */
export function outcomeOfHttp(statusCode: number): Outcome {
  if (statusCode >= 200 && statusCode < 400) return 'success';
  return statusCode === 429 || statusCode === 503 ? 'failure' : 'ignore';
}

/** UNAVAILABLE is most often a broken connection, so it counts only where it means "no capacity". */
export function outcomeOfGrpc(code: number, isUnavailableFailure: boolean): Outcome {
  if (code === GRPC_OK) return 'success';
  if (code === GRPC_STATUS.RESOURCE_EXHAUSTED) return 'failure';
  return code === GRPC_STATUS.UNAVAILABLE && isUnavailableFailure ? 'failure' : 'ignore';
}

// The one error class. Failures from outside are a SynclineError with a code from a closed list, so that
// callers branch on `code` and never on text.
//
// K1  Every code has a default for `retryable`; an error always says whether the failed write was applied.

import { AssertionError } from './assert.js';

/** A code exists only where a caller can react to it. */
export const ERROR_CODES = {
  'invalid-argument': {
    retryable: false,
    meaning: 'The request itself is wrong. `details.field` names the part.',
  },
  'limit-exceeded': {
    retryable: false,
    meaning: 'A limit would be exceeded. `details.limit` names it.',
  },
  overloaded: { retryable: true, meaning: 'A queue is full right now. Try again with backoff.' },
  'not-found': { retryable: false, meaning: 'The requested object does not exist.' },
  conflict: {
    retryable: false,
    meaning:
      'The object already exists, or exists in a different form. `details.reason` says which.',
  },
  fenced: { retryable: false, meaning: 'A newer owner has taken over. Stop; do not retry.' },
  overflow: {
    retryable: false,
    meaning: 'A subscriber was too slow. Resume from the cursor in `details`.',
  },
  unavailable: { retryable: true, meaning: 'The other side is unreachable or not ready.' },
  timeout: { retryable: true, meaning: 'No reply within the timeout.' },
  aborted: { retryable: false, meaning: 'The caller aborted the call.' },
  closed: { retryable: false, meaning: 'The object was closed before or during the call.' },
  unauthenticated: {
    retryable: false,
    meaning: 'A token, password or certificate is missing or wrong.',
  },
  locked: {
    retryable: false,
    meaning: 'Another process is using the directory. `details.holder` names it.',
  },
  'storage-full': {
    retryable: true,
    meaning: 'The disk is full. Nothing was written; writes succeed again once there is space.',
  },
  'storage-failed': {
    retryable: false,
    meaning: 'The disk failed. The store accepts no more writes in this process.',
  },
  corrupt: {
    retryable: false,
    meaning: 'Stored bytes are damaged: a checksum, a length or their order is wrong.',
  },
  throttled: {
    retryable: true,
    meaning: 'This caller takes more than its fair share. Wait for `details.retryAfterMs`.',
  },
  'version-conflict': {
    retryable: false,
    meaning:
      'The key already has a different value at this version. `details` holds the version and both values.',
  },
  'bad-record': {
    retryable: false,
    meaning: 'A key, version or value cannot be stored. Fix or skip the record.',
  },
  'too-new': {
    retryable: false,
    meaning: 'A newer release wrote this data. `details` names both versions; upgrade to read it.',
  },
  incompatible: {
    retryable: false,
    meaning: 'The data was written with a different codec, kind or layout than requested.',
  },
  'position-lost': {
    retryable: false,
    meaning:
      'A source no longer has what follows the stored position. `details` says what was found instead.',
  },
  'out-of-step': {
    retryable: false,
    meaning: 'Checkpoint and output do not match: one of them is older. `details` has both epochs.',
  },
} as const satisfies Record<string, { readonly retryable: boolean; readonly meaning: string }>;

export type ErrorCode = keyof typeof ERROR_CODES;

/** Whether a failed change took effect: it did not, or that is unknown. */
export type Outcome = 'not-applied' | 'unknown';

export interface SynclineErrorOptions {
  /** Default: that of the code. */
  readonly retryable?: boolean;
  /** Default `'not-applied'`. Set to `'unknown'` once a request was sent and got no reply. */
  readonly outcome?: Outcome;
  /** Plain values for programs; the message is for people and may change. */
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

export class SynclineError extends Error {
  override readonly name = 'SynclineError';
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly outcome: Outcome;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: SynclineErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable ?? ERROR_CODES[code].retryable;
    this.outcome = options.outcome ?? 'not-applied';
    this.details = options.details ?? {};
  }

  /**
   * Converts whatever was thrown to a SynclineError. An abort stays an abort; anything else becomes `fallback`.
   * A failed assertion is rethrown: it is a bug, and no caller should handle it.
   */
  static from(thrown: unknown, fallback: ErrorCode = 'unavailable'): SynclineError {
    if (thrown instanceof SynclineError) return thrown;
    if (thrown instanceof AssertionError) throw thrown;
    if (!(thrown instanceof Error))
      return new SynclineError(fallback, textOf(thrown), { cause: thrown });
    const code = thrown.name === 'AbortError' ? 'aborted' : fallback;
    return new SynclineError(code, thrown.message, { cause: thrown });
  }

  /** A copy with these parts changed. Its cause is this error, unless another one is given. */
  with(changes: SynclineErrorOptions): SynclineError {
    const { code, message, retryable, outcome, details } = this;
    const options = { retryable, outcome, details, cause: this, ...changes };
    return new SynclineError(code, message, options);
  }

  /** The same failure of a change whose outcome differs from what the error says. */
  withOutcome(outcome: Outcome): SynclineError {
    return outcome === this.outcome ? this : this.with({ outcome, cause: this.cause });
  }
}

/** Anything can be thrown, even an object that cannot be converted to a string. */
function textOf(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return Object.prototype.toString.call(thrown);
  }
}

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code);
}

/** Rejects a waiting call whose signal fired. */
export function abortedError(what: string, signal: AbortSignal): SynclineError {
  return new SynclineError('aborted', `${what} was aborted`, { cause: signal.reason });
}

// The messages on the link between a client and the store: calls and their replies, each of which may be lost,
// duplicated or delayed. A subscription is one call that opens it and one more for each batch of its events.
import type { JobEvent, JobStore } from '@syncline/jobs';
import { type ErrorCode, SynclineError } from '@syncline/kernel';

export type CallName = Exclude<
  {
    [Name in keyof JobStore]-?: JobStore[Name] extends (...args: never) => Promise<unknown>
      ? Name
      : never;
  }[keyof JobStore],
  'close' | typeof Symbol.asyncDispose
>;

export type Request =
  | { readonly kind: 'call'; readonly name: CallName; readonly args: readonly unknown[] }
  | { readonly kind: 'open'; readonly jobId: string; readonly options: object }
  /** Requests the batch with this number; the first is 1. Requesting the last one again is allowed. */
  | { readonly kind: 'next'; readonly stream: number; readonly number: number }
  | { readonly kind: 'cancel'; readonly stream: number };

export interface RequestMessage {
  readonly id: number;
  readonly client: string;
  readonly request: Request;
}

/** `wait`: nothing has happened, request again. `end`: the stream has ended. */
export type StreamBatch = readonly JobEvent[] | 'wait' | 'end';

export interface ReplyMessage {
  readonly id: number;
  readonly reply: { readonly value: unknown } | { readonly error: SentError };
}

export interface SentError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly outcome: SynclineError['outcome'];
  readonly details: SynclineError['details'];
}

/** A failed assertion is not a reply: it ends the run. */
export function toSentError(thrown: unknown): SentError {
  if (!(thrown instanceof SynclineError)) throw thrown;
  const { code, message, retryable, outcome, details } = asOfServer(thrown);
  return { code, message, retryable, outcome, details };
}

/** As the real service maps it: a closed store means that the client should retry. */
function asOfServer(error: SynclineError): SynclineError {
  if (error.code !== 'closed') return error;
  const { outcome } = error;
  return new SynclineError('unavailable', 'the store is stopping', { outcome });
}

export function fromSentError({ code, message, ...options }: SentError): SynclineError {
  return new SynclineError(code, message, options);
}

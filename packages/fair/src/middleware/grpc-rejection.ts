// The statuses that the interceptor itself sends: to a throttled call, and to one whose options' functions
// threw.
import { Metadata, type StatusObject, status } from '@grpc/grpc-js';
import { SynclineError } from '@syncline/kernel';
import { WireWriter } from '@syncline/kernel/wire';
import { type GrpcFailure, grpcFailureOf } from '@syncline/protocol';
import type { Decision } from '../decision.js';

/** What ends a call; the metadata are its trailers. */
export type GrpcStatus = Pick<StatusObject, 'code' | 'details'> & {
  readonly metadata?: Metadata | null | undefined;
};

/** RESOURCE_EXHAUSTED. A client with a retry policy obeys `grpc-retry-pushback-ms` by itself. */
export function throttledStatus({ retryAfterMs }: Decision): GrpcStatus {
  const message = `This caller takes more than its fair share. Try again in ${retryAfterMs / 1000} s.`;
  const error = new SynclineError('throttled', message, { details: { retryAfterMs } });
  const answer = statusOfFailure(grpcFailureOf(error));
  const bytes = encodeRetryStatus({ code: answer.code, message, retryAfterMs });
  answer.metadata.set('grpc-status-details-bin', bytes);
  answer.metadata.set('grpc-retry-pushback-ms', String(retryAfterMs));
  return answer;
}

/** As grpc-js treats what a method throws: an error with a status keeps it, any other is UNKNOWN. */
export function statusOfThrown(reason: unknown): GrpcStatus {
  if (reason instanceof SynclineError) return statusOfFailure(grpcFailureOf(reason));
  const { code, details, message, metadata } = Object(reason) as Readonly<Record<string, unknown>>;
  const text = typeof details === 'string' ? details : message;
  return {
    code: typeof code === 'number' && Number.isInteger(code) ? code : status.UNKNOWN,
    details: typeof text === 'string' ? text : 'Unknown Error',
    ...(metadata instanceof Metadata ? { metadata } : {}),
  };
}

function statusOfFailure(failure: GrpcFailure): GrpcStatus & { readonly metadata: Metadata } {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(failure.metadata)) metadata.set(name, value);
  return { code: failure.code, details: failure.details, metadata };
}

// `google.rpc.Status` with one `google.rpc.RetryInfo`, as bytes for the trailer `grpc-status-details-bin`.
// Clients in any language can read the delay from it. Five fields do not need a protobuf library:
//
//   Status    { int32 code = 1; string message = 2; repeated Any details = 3; }
//   Any       { string type_url = 1; bytes value = 2; }
//   RetryInfo { Duration retry_delay = 1; }      Duration { int64 seconds = 1; int32 nanos = 2; }

const RETRY_INFO_URL = 'type.googleapis.com/google.rpc.RetryInfo';
const NANOS_PER_MS = 1_000_000;

export interface RetryStatus {
  readonly code: number;
  readonly message: string;
  readonly retryAfterMs: number;
}

export function encodeRetryStatus({ code, message, retryAfterMs }: RetryStatus): Buffer {
  const writer = new WireWriter();
  writer.uint(1, code);
  writer.text(2, message);
  const any = writer.begin(3);
  writer.text(1, RETRY_INFO_URL);
  const retryInfo = writer.begin(2);
  const delay = writer.begin(1);
  writer.uint(1, Math.floor(retryAfterMs / 1000));
  writer.uint(2, (retryAfterMs % 1000) * NANOS_PER_MS);
  writer.end(delay);
  writer.end(retryInfo);
  writer.end(any);
  return writer.copy();
}

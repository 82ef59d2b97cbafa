// The messages between a coordinator and its workers, and between workers. All of them are plain values that can be
// copied to another thread.
//
// A generation identifies one attempt of the whole group: every recovery raises it. The contents of messages from other
// generations are never stored.
import { AssertionError, isErrorCode, SynclineError } from '@syncline/kernel';
import type { Fence } from '../ends/sink.js';
import type { Json } from '../ends/source.js';
import type { StoredGroup } from '../memory/memory-cells.js';
import type { Batch } from '../pipeline/batch.js';
import type { Watermark } from '../pipeline/operator.js';
import type { EngineStart, EngineStatus, EpochPart, PartitionStart } from '../run/engine.js';
import type { Segment } from '../snapshot/segment.js';

/** The stored groups of one state that a worker owns. */
export interface StateShare {
  readonly uid: string;
  /** Id of the codec that wrote them. */
  readonly codec: string;
  readonly groups: ReadonlyMap<number, StoredGroup>;
}

/** Everything that a worker needs to start. */
export interface WorkerStart {
  readonly fence: Fence;
  readonly workers: number;
  readonly keyGroups: number;
  /** The first epoch to work on. */
  readonly epoch: number;
  readonly from: EngineStart;
  readonly states: readonly StateShare[];
}

/** The share of a worker in one epoch. */
export interface WorkerPart extends EpochPart {
  /** By state. */
  readonly segments: Readonly<Record<string, readonly Segment[]>>;
  /** By sink. For outbox sinks: their rows, as JSON text. */
  readonly handles: Readonly<Record<string, readonly Json[]>>;
}

export interface WorkerReport extends EngineStatus {
  /** By state: the estimated size of the changes since the last barrier, and the number of keys. */
  readonly states: Readonly<
    Record<string, { readonly changedBytes: number; readonly keys: number }>
  >;
  /** Reading is paused until a checkpoint has stored the changes. */
  readonly isFull: boolean;
}

export type ToWorker = { readonly generation: number } & (
  | ({ readonly kind: 'start' } & WorkerStart)
  | { readonly kind: 'trigger'; readonly epoch: number; readonly isFinal: boolean }
  | { readonly kind: 'committed'; readonly epoch: number }
  /** Everything that is not committed is discarded, and the worker ends. */
  | { readonly kind: 'abandoned' }
  | { readonly kind: 'read'; readonly partition: PartitionStart }
);

export type FromWorker = { readonly generation: number } & (
  | { readonly kind: 'ready' }
  | { readonly kind: 'ack'; readonly epoch: number; readonly part: WorkerPart }
  /** The worker cannot continue. */
  | { readonly kind: 'nack'; readonly error: PlainError }
  | { readonly kind: 'report'; readonly report: WorkerReport }
  | { readonly kind: 'warned'; readonly message: string; readonly fields: Record<string, Json> }
  | { readonly kind: 'closed' }
);

/** One step of a channel between two workers. `exchange` is the number of the `keyBy` in the graph. */
export type Frame = { readonly exchange: number } & (
  | { readonly kind: 'items'; readonly batch: Batch }
  | { readonly kind: 'watermark'; readonly watermark: Watermark }
  | { readonly kind: 'barrier'; readonly epoch: number }
  /** The receiver has processed this many batches. */
  | { readonly kind: 'credit'; readonly batches: number }
);

export interface PeerMessage {
  readonly generation: number;
  /** Counts the messages of one worker to another, from 1. */
  readonly sequence: number;
  readonly frames: readonly Frame[];
}

/** An error as a plain value. Without a code, it is a bug in the program. */
export interface PlainError {
  readonly code: string | undefined;
  readonly message: string;
  readonly retryable: boolean;
  readonly outcome: 'not-applied' | 'unknown';
  readonly details: Readonly<Record<string, Json>>;
}

export function plainError(thrown: unknown): PlainError {
  if (!(thrown instanceof SynclineError)) {
    const message = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
    return { code: undefined, message, retryable: false, outcome: 'not-applied', details: {} };
  }
  const { code, message, retryable, outcome } = thrown;
  const details = JSON.parse(JSON.stringify(thrown.details)) as Record<string, Json>;
  return { code, message, retryable, outcome, details };
}

export function errorOf({ code, message, retryable, outcome, details }: PlainError): Error {
  if (code === undefined || !isErrorCode(code)) return new AssertionError(message);
  return new SynclineError(code, message, { retryable, outcome, details });
}

// The contract of a sink: output becomes visible in the order of epochs, each epoch as a whole.
//
// Before the commit point of an epoch a sink only prepares. Behind it, `commit` is repeated until it
// succeeds, also by later processes, so it must recognise what it has already done.
import type { Key } from '../state/key.js';
import type { LogicalTime } from '../state/version.js';
import type { EndPorts, Json } from './source.js';

/** Who writes. Sinks that have a memory of their own refuse anyone older, or equally old and unequal. */
export interface Fence {
  /** The random id of the pipeline's directory. */
  readonly pipeline: string;
  /** Rises with every start. */
  readonly generation: number;
  /** Rises when a run returns to its last durable epoch without a restart. */
  readonly attempt: number;
  /** Random per generation: tells a copied directory from the original. */
  readonly token: string;
}

export interface Output<T> {
  readonly value: T;
  readonly key?: Key;
  readonly time: LogicalTime;
  /** Stable across replays: equal for the same output however often its cause is processed. */
  id(): string;
}

export type SinkContract = 'transactional' | 'idempotent' | 'dedup-at-consumer';

/** What a target knows of the output it holds. */
export interface SinkMark {
  readonly pipeline: string;
  readonly generation: number;
  /** The highest epoch that the target holds completely; 0 if it holds none. */
  readonly epoch: number;
  /** A higher epoch of which the target holds only the first rows. It counts when epochs are compared with the store. */
  readonly partial?: number;
}

export type CommitResult = 'committed' | 'already';

export interface Sink<T, Txn = unknown> {
  readonly uid: string;
  readonly contract: SinkContract;
  /** Called once before anything else. */
  attach?(ports: EndPorts): void;
  /** What the target holds; null if it holds nothing or keeps no memory. */
  mark(): Promise<SinkMark | null>;
  /** Commits what is owed and aborts everything else below the fence. */
  recover(owed: readonly Json[], fence: Fence): Promise<void>;
  begin(epoch: number, slot: number, fence: Fence): Promise<Txn>;
  /** Nothing becomes visible. */
  write(txn: Txn, outputs: readonly Output<T>[]): Promise<void>;
  /** Durable when it resolves. The handle goes into the checkpoint. */
  prepare(txn: Txn): Promise<Json>;
  commit(handle: Json): Promise<CommitResult>;
  abort(txn: Txn): Promise<void>;
}

/** One part of an epoch's output, as it lies in the checkpoint store. */
export interface OutboxPart {
  readonly epoch: number;
  /** Counts the parts of the epoch from 0. */
  readonly part: number;
  /** True for the last part of the epoch. */
  readonly isLast: boolean;
  /** Number of the part's first row within the epoch. */
  readonly first: number;
  readonly rows: readonly OutboxRow[];
}

export interface OutboxRow {
  readonly id: string;
  readonly key?: Key;
  readonly value: Json;
}

/**
 * A sink whose rows wait in the checkpoint store and leave it behind the commit point. `deliver` is the one
 * function that its author writes; it is called in order and repeated until it resolves.
 */
export interface OutboxSink {
  readonly kind: 'outbox';
  readonly uid: string;
  readonly contract: SinkContract;
  mark(): Promise<SinkMark | null>;
  /**
   * Raises the target's fence before anything is delivered in a new generation, and returns what the target
   * holds from then on: an older writer can add nothing behind this call. Throws `fenced` or `conflict`.
   */
  claim?(fence: Fence, signal: AbortSignal): Promise<SinkMark | null>;
  deliver(part: OutboxPart, fence: Fence, signal: AbortSignal): Promise<CommitResult>;
  close?(): Promise<void>;
}

// The contract of a sink: output becomes visible in epoch order, each epoch atomically.
//
// Before the commit point of an epoch, a sink only prepares its output. After it, `commit` is repeated until it
// succeeds, possibly by a later process, so it must recognize what was already committed.
import type { Key } from '../state/key.js';
import type { LogicalTime } from '../state/version.js';
import type { EndPorts, Json } from './source.js';

/** Identifies a writer. Sinks that store it reject an older generation, or the same generation with another token. */
export interface Fence {
  /** The random id of the pipeline's checkpoint directory. */
  readonly pipeline: string;
  /** Increases with every start. */
  readonly generation: number;
  /** Increases when a run returns to its last durable epoch without a restart. */
  readonly attempt: number;
  /** Random per generation: distinguishes a copied directory from the original. */
  readonly token: string;
}

export interface Output<T> {
  readonly value: T;
  readonly key?: Key;
  readonly time: LogicalTime;
  /** Stable across replays: the same output always has the same id. */
  id(): string;
}

export type SinkContract = 'transactional' | 'idempotent' | 'dedup-at-consumer';

/** What a target has recorded about its output. */
export interface SinkMark {
  readonly pipeline: string;
  readonly generation: number;
  /** The highest epoch that the target has completely; 0 if none. */
  readonly epoch: number;
  /** A higher epoch of which the target has only the first rows. It counts when epochs are compared with the store. */
  readonly partial?: number;
}

export type CommitResult = 'committed' | 'already';

export interface Sink<T, Txn = unknown> {
  readonly uid: string;
  readonly contract: SinkContract;
  /** Called once before anything else. */
  attach?(ports: EndPorts): void;
  /** What the target has; null if it has no output or does not record it. */
  mark(): Promise<SinkMark | null>;
  /** Commits the owed handles and aborts everything else that older writers left. */
  recover(owed: readonly Json[], fence: Fence): Promise<void>;
  begin(epoch: number, slot: number, fence: Fence): Promise<Txn>;
  /** Must not make anything visible. */
  write(txn: Txn, outputs: readonly Output<T>[]): Promise<void>;
  /** The output is durable when it resolves. The handle is stored in the checkpoint. */
  prepare(txn: Txn): Promise<Json>;
  commit(handle: Json): Promise<CommitResult>;
  abort(txn: Txn): Promise<void>;
}

/** One part of an epoch's output, as stored in the checkpoint store. */
export interface OutboxPart {
  readonly epoch: number;
  /** Number of the part in the epoch, from 0. */
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
 * A sink whose rows are kept in the checkpoint store and delivered after the commit point. `deliver` is called in order
 * and repeated until it resolves.
 */
export interface OutboxSink {
  readonly kind: 'outbox';
  readonly uid: string;
  readonly contract: SinkContract;
  mark(): Promise<SinkMark | null>;
  /**
   * Raises the target's fence before anything is delivered in a new generation, and returns the target's mark. An older
   * writer cannot add anything after this call. Throws `fenced` or `conflict`.
   */
  claim?(fence: Fence, signal: AbortSignal): Promise<SinkMark | null>;
  deliver(part: OutboxPart, fence: Fence, signal: AbortSignal): Promise<CommitResult>;
  close?(): Promise<void>;
}

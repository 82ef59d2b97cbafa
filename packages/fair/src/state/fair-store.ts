// The store of shared cells. The state service uses this port; memory, embedded and Redis implement it and run
// one conformance suite (`fairStoreSuite` in ./testing).
//
// A store applies changes one after another and remembers which it has applied; it knows no streams and
// no windows. MaybePromise: the memory store answers without a promise, so that nothing waits for it.
import type { CellDeltas, Cells } from '../cells.js';
import type { Decay } from '../decay.js';
import type { WireTrackerConfig } from '../wire/sync-messages.js';

export type MaybePromise<T> = T | Promise<T>;

/** `sum`: the default tracker, no decay. Otherwise decay goes by the store's own clock. */
export type ChangeRule = { readonly policy: 'sum' } | Decay;

export interface Namespace {
  /** The tracker's name; '' for the default tracker. */
  readonly name: string;
  readonly rule: ChangeRule;
  /** The shape of a named tracker. The default tracker has none: any row and column may be used. */
  readonly shape: { readonly levels: number; readonly columns: number } | undefined;
  /** A seed is useful for 3 windows; a store with its own expiry uses this. */
  readonly windowMs: number;
}

export interface Applied {
  /** `duplicate`: the store has applied this sequence number of this client before. */
  readonly result: 'applied' | 'duplicate';
  readonly seed: bigint;
  /** Each touched cell once, with its new value as of now. Empty for a duplicate. */
  readonly cells: Cells;
  /** Only from `watch`: the seed had expired, and these are all its cells. */
  readonly startsOver?: boolean;
}

export interface SeedInfo {
  readonly seed: bigint;
  readonly cellsCount: number;
  /** Time since the last change, by a monotonic clock. */
  readonly idleMs: number;
}

export interface ChangeId {
  readonly clientId: string;
  readonly seq: number;
  /** Whether a client has a stream: a store that has to forget clients keeps those. Default: none has. */
  isConnected?(clientId: string): boolean;
}

export interface FairStore {
  /**
   * Applies the deltas of one message in order, all or none; with Redis, all or none of each 500 cells. Without
   * an id nothing is remembered.
   */
  applyDelta(
    namespace: Namespace,
    seed: bigint,
    deltas: CellDeltas,
    id?: ChangeId,
  ): MaybePromise<Applied>;
  /** Each cell becomes the larger of its value now and the given one. */
  joinView(namespace: Namespace, seed: bigint, cells: Cells): MaybePromise<Applied>;
  /** Values as of now. All that were touched in the default tracker, those of 10^-6 and more in a named one. */
  getSeed(namespace: Namespace, seed: bigint): MaybePromise<Cells>;
  /** Removes all seeds below this one; returns how many cells they had. */
  evictBefore(namespace: Namespace, seed: bigint): MaybePromise<number>;
  seeds(namespace: Namespace): MaybePromise<readonly SeedInfo[]>;
  forget(namespace: Namespace, seed: bigint): MaybePromise<void>;
  /** For stores that several services share; without it, this service is the only one. */
  readonly shared?: SharedTrackers;
  /** Changes that others made, for stores that several services share. */
  watch?(namespace: Namespace, onChange: (change: Applied) => void): { close(): void };
  close(): Promise<void>;
}

/** What services over one store must agree on. */
export interface SharedTrackers {
  /** Binds the configuration or compares it: `conflict`, with `details.field`, when it differs. */
  greet(namespace: Namespace, config: WireTrackerConfig): Promise<{ readonly epoch: number }>;
  /** These clients are alive here. Resolves to the number of clients on all services. */
  keepAlive(namespace: Namespace, clientIds: readonly string[]): Promise<number>;
  /** This client has left and no longer counts. One that died still counts for a while. */
  left(namespace: Namespace, clientId: string): Promise<void>;
  /** Calls back when the store is lost (after 1 s without it) and when it is back. */
  onReachable(listener: (isReachable: boolean) => void): { close(): void };
}

// Continues with a result: immediately, or later if it is a promise. The memory store answers synchronously,
// and a delta must not wait for the next microtask.

export function whenDone<T, R>(
  answer: MaybePromise<T>,
  proceed: (value: T) => MaybePromise<R>,
): MaybePromise<R> {
  return answer instanceof Promise ? answer.then(proceed) : proceed(answer);
}

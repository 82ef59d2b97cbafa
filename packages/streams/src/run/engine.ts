// The engine of a run, which reads, processes, and can be cut between two batches. `LocalEngine` does everything on its
// own thread; with workers, each of them has one, and `WorkersEngine` represents all of them.
import { type StorageBatch, SynclineError } from '@syncline/kernel';
import type { Json, Source } from '../ends/source.js';
import type { Graph, GraphNode } from '../pipeline/graph.js';
import type { Operator, OperatorCounters } from '../pipeline/operator.js';
import type { Head, PartitionMark } from '../store/layout.js';

/** The status of an engine. A plain value, so that a worker can send it. */
export interface EngineStatus {
  readonly recordsIn: number;
  readonly hasOutput: boolean;
  readonly isEnded: boolean;
  readonly watermarkMs: number;
  readonly lagRecords: number;
  readonly idlePartitions: number;
  /** A partition that is not idle and has held back event time for a long time. */
  readonly heldBackBy: string | null;
  readonly counters: ReadonlyMap<string, OperatorCounters>;
}

/** The parts of an epoch other than its states and output. Also a plain value. */
export type EpochPart = Pick<
  Head,
  'partitions' | 'turn' | 'clockMs' | 'recordsIn' | 'operators'
> & {
  readonly watermarks: NonNullable<Head['watermarks']>;
  /** Number of outputs in the epoch. */
  readonly outputs: number;
  /** How long processing was paused. */
  readonly pauseMs: number;
};

/** An epoch after its barrier. */
export interface Cut extends EpochPart {
  /**
   * Makes the output durable without publishing it, adds what must be stored with the epoch to the batch, and begins
   * the output of the next epoch. Returns the handles to commit, by sink.
   */
  prepare(batch: StorageBatch): Promise<Readonly<Record<string, readonly Json[]>>>;
  /** Discards the output of an epoch that will be retried. */
  abandon(): Promise<void>;
}

export interface Engine {
  readonly recordsIn: number;
  /** Whether there is output that is not part of a checkpoint yet. */
  readonly hasOutput: boolean;
  /** Whether these two are exact. Workers report them with a delay. */
  readonly isUpToDate: boolean;
  /** Whether reading must wait for a checkpoint. */
  readonly isFull: boolean;
  /** Whether every partition has been read to its end. */
  readonly isEnded: boolean;
  status(nowMs: number): EngineStatus;
  /** Begins the output of an epoch and starts reading. */
  start(epoch: number): Promise<void>;
  /** Processes until there is nothing to do, or until `isInterrupted` returns true before a batch. */
  work(isInterrupted: () => boolean): Promise<void>;
  /** Passes pending output to the sinks. */
  flush(): Promise<void>;
  /** Wall-clock time at which the next clock timer is due. */
  readonly nextTickMs: number;
  /** Sets the barrier of an epoch between two batches, and captures the states there. */
  cut(epoch: number, isFinal: boolean): Promise<Cut>;
  /** Called when the epoch is durable. */
  committed(epoch: number): void;
  /** Starts reading new partitions of the sources. */
  discoverPartitions(signal: AbortSignal): Promise<void>;
  /** Stops reading. */
  stopReading(): Promise<void>;
  /** Discards everything that is not part of a checkpoint. */
  close(): Promise<void>;
}

/** A partition to read, starting at its mark. */
export interface PartitionStart {
  readonly source: string;
  readonly partition: string;
  readonly mark: PartitionMark | undefined;
}

/** Where an attempt starts: the contents of a head, or the share of a worker in it. */
export interface EngineStart {
  readonly partitions: readonly PartitionStart[];
  readonly order: 'strict' | 'ready';
  readonly turn: string | null;
  readonly clockMs: number;
  readonly recordsIn: number;
  readonly operators: Head['operators'];
  readonly watermarks: Head['watermarks'];
}

/** The other workers, from the point of view of one of them. */
export interface Peers {
  /** Creates the operator between a `keyBy` and its keyed operators. */
  exchange(node: GraphNode): Operator;
  /** Processes one frame from another worker. Returns false if there is none that may be processed. */
  step(): boolean;
  /** Whether sources must wait, for a barrier or for other workers to catch up. */
  readonly isHeld: boolean;
  /** Sends what operators have emitted for other workers. */
  flush(): void;
  /** Sets the barrier of an epoch: nothing after it is processed until `release`. */
  hold(epoch: number): void;
  /** Whether everything before the barrier has been processed. */
  readonly isAligned: boolean;
  release(): void;
}

/** New partitions of the sources. A source that cannot be reached counts as having none. */
export async function newPartitions(
  graph: Graph,
  known: readonly Pick<PartitionStart, 'source' | 'partition'>[],
  signal: AbortSignal,
): Promise<readonly { readonly source: Source<unknown, Json>; readonly partition: string }[]> {
  const found = graph.sources.map(async ({ source }) => {
    const names = await source.partitions(signal).catch((thrown: unknown) => {
      if (thrown instanceof SynclineError && thrown.retryable) return [];
      throw thrown;
    });
    const isKnown = (name: string) =>
      known.some((each) => each.source === source.uid && each.partition === name);
    return names.filter((name) => !isKnown(name)).map((partition) => ({ source, partition }));
  });
  return (await Promise.all(found)).flat();
}

/** Tells a source what will not be read again. This is only a hint: what fails is repeated with the next epoch. */
export async function acknowledge(
  source: Source<unknown>,
  positions: ReadonlyMap<string, Json>,
): Promise<void> {
  if (positions.size === 0) return;
  await source.ack?.(positions).catch((thrown: unknown) => {
    if (!(thrown instanceof SynclineError)) throw thrown;
  });
}

/** Waits for all, then throws the first error, so that nothing keeps running in the background. */
export async function allOrThrow<T extends readonly unknown[]>(
  work: T,
): Promise<{ -readonly [Index in keyof T]: Awaited<T[Index]> }> {
  const results = await Promise.allSettled(work);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
  return results.map((result) => (result as PromiseFulfilledResult<unknown>).value) as never;
}

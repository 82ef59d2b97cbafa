// The contract of a source: partitions whose records can be read again from a position.
//
// A pipeline stores the position behind the last record of each batch that a checkpoint contains, and reads
// from there after a restart. The source must then give the same records in the same order, until a later
// position has been acknowledged.

import type { Clock, Files, Logger } from '@syncline/kernel';

/** What a run lends to its sources and sinks, so that a simulation can stand in for the real world. */
export interface EndPorts {
  readonly files: Files;
  /** A path of the user's, as `files` wants it. */
  path(path: string): string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A value that survives JSON unchanged. Positions and transaction handles are such values. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [name: string]: Json };

export interface Source<T, P extends Json = Json> {
  /** Names the source in checkpoints: a lower-case letter, then up to 62 letters, digits or dashes. */
  readonly uid: string;
  /** Called once before anything else. Sources without files need not care. */
  attach?(ports: EndPorts): void;
  /** True if every partition ends. Runs over finite sources only are ordered strictly by default. */
  readonly isFinite: boolean;
  /** Asked at the start and every 30 s. New partitions are read from their beginning. */
  partitions(signal: AbortSignal): Promise<readonly string[]>;
  /** Throws `position-lost` if the source can no longer continue behind `position`. */
  check(partition: string, position: P, signal: AbortSignal): Promise<void>;
  /** Reads behind `from`, or from the beginning for null. Throws `position-lost` if a trimmer got ahead. */
  read(partition: string, from: P | null, signal: AbortSignal): AsyncIterable<SourceBatch<T, P>>;
  /** A hint that nothing up to these positions will be read again. May be repeated or missing. */
  ack?(positions: ReadonlyMap<string, P>): Promise<void>;
  /** Called when a run ends. The next call of another method opens the source again. */
  close?(): Promise<void>;
}

export interface SourceBatch<T, P extends Json = Json> {
  readonly items: readonly T[];
  /** The place behind the last record of the batch, bad records included. */
  readonly position: P;
  /** Records that could not be decoded. They use up a place in the logical order like any other. */
  readonly bad?: readonly BadItem[];
  /** Every record still to come has a later event time. */
  readonly watermarkMs?: number;
  /** The partition has nothing to read for now and must not hold back event time. */
  readonly idle?: boolean;
  /** The partition ends behind this batch. */
  readonly end?: boolean;
  /** The partition goes on in a new incarnation behind this batch, such as a rotated file. */
  readonly nextIncarnation?: boolean;
  /** Records known to be waiting behind this batch, for the progress report. */
  readonly lagRecords?: number;
}

export interface BadItem {
  /** How many items of the batch precede it. */
  readonly at: number;
  readonly raw: Uint8Array;
  readonly reason: string;
}

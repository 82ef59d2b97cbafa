// The contract of a source: partitions whose records can be read again from a position.
//
// A checkpoint contains the position after the last batch that was processed, and a restarted pipeline continues
// reading there. The source must then return the same records in the same order, until a later position has been
// acknowledged.

import type { Clock, Files, Logger } from '@syncline/kernel';

/** What a run provides to its sources and sinks, so that they can also run in a simulation. */
export interface EndPorts {
  readonly files: Files;
  /** Converts a user-supplied path to the form that `files` expects. */
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
  /** Identifies the source in checkpoints: a lowercase letter, then up to 62 lowercase letters, digits or dashes. */
  readonly uid: string;
  /** Called once before anything else. Only needed by sources that use these ports. */
  attach?(ports: EndPorts): void;
  /** True if every partition ends. If all sources are finite, runs use strict order by default. */
  readonly isFinite: boolean;
  /** Called at the start and every 30 s. New partitions are read from their beginning. */
  partitions(signal: AbortSignal): Promise<readonly string[]>;
  /** Throws `position-lost` if the source can no longer continue after `position`. */
  check(partition: string, position: P, signal: AbortSignal): Promise<void>;
  /** Reads after `from`, or from the beginning for null. Throws `position-lost` if records after it were removed. */
  read(partition: string, from: P | null, signal: AbortSignal): AsyncIterable<SourceBatch<T, P>>;
  /** A hint that nothing up to these positions will be read again. Calls may be repeated or omitted. */
  ack?(positions: ReadonlyMap<string, P>): Promise<void>;
  /** Called when a run ends. The next call of another method opens the source again. */
  close?(): Promise<void>;
}

export interface SourceBatch<T, P extends Json = Json> {
  readonly items: readonly T[];
  /** The position after the last record of the batch, including bad records. */
  readonly position: P;
  /** Records that could not be decoded. They have a place in the logical order like any other. */
  readonly bad?: readonly BadItem[];
  /** All later records have a later event time. */
  readonly watermarkMs?: number;
  /** The partition has nothing to read for now and must not hold back event time. */
  readonly idle?: boolean;
  /** The partition ends after this batch. */
  readonly end?: boolean;
  /** After this batch, the partition continues in a new incarnation, such as a rotated file. */
  readonly nextIncarnation?: boolean;
  /** Number of records known to be waiting after this batch, for the progress report. */
  readonly lagRecords?: number;
}

export interface BadItem {
  /** Number of items of the batch that precede it. */
  readonly at: number;
  readonly raw: Uint8Array;
  readonly reason: string;
  /** Where it is, for error messages: `the line at byte 15`. Default: its number in the partition. */
  readonly place?: string;
}

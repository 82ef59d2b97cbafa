// Progress: how far a scope has come, counted over the same cells that `getState` looks at.
import type { State } from './state.js';

export type Counts = Readonly<{
  notStarted: number;
  running: number;
  finished: number;
  warned: number;
  failed: number;
  total: number;
}>;

export type TagProgress<S = State> = Readonly<{
  tag: string;
  cells: Counts;
  percent: number;
  lowest: S;
  worst: S;
}>;

export type Progress<S = State> = Readonly<{
  revision: number;
  cells: Counts;
  /** 100 only when all cells are finished. */
  percent: number;
  /** Tasks whose lease is lost. */
  lostTasks: number;
  /** The lowest number: what `getState` answers. */
  lowest: S;
  /** The most severe: failed, warned, not started, running, finished. */
  worst: S;
  /**
   * Per known tag the progress of the scope narrowed to it, in order of their bytes. The states of these rows
   * carry no payload: with 256 tags they would be 32 MiB. Ask for the tag to get it.
   */
  tags: readonly TagProgress<S>[];
}>;

/** Cut, not rounded: 99.9 until the last cell is finished. */
export function percentOf({ finished, total }: Counts): number {
  return total === 0 ? 0 : Math.floor((1000 * finished) / total) / 10;
}

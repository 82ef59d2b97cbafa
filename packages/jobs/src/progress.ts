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
  /** The mean of the cells: 1 if finished, else the `progress` of the state. Cut to a tenth; 100 only when all are finished. */
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

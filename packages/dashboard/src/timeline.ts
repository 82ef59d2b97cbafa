// How many cells of a job were in which class, over time.
import type { ChartRows } from './view-data.js';

/**
 * Time in ms on the server's clock, then the number of cells of each class from then on; at most one entry per second.
 */
export type JobHistory = readonly (readonly number[])[];

/**
 * For a chart of steps: seconds, then how many cells were finished, running, warned and failed. It ends now, at the
 * latest values.
 */
export function timelineOf(history: JobHistory, nowMs: number): ChartRows {
  const last = history.at(-1) ?? [];
  const lastAtMs = last[0] ?? 0;
  const rows = nowMs > lastAtMs ? [...history, [nowMs, ...last.slice(1)]] : history;
  const times = rows.map(([atMs = 0]) => atMs / 1_000);
  return [times, ...[3, 2, 4, 5].map((at) => rows.map((row) => row[at] ?? 0))];
}

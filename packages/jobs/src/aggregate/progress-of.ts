// Makes a Progress of a summary: the cells that it names are looked up, those never written stand as default.
import { type Progress, percentOf, type TagProgress } from '../progress.js';
import { defaultState, type State, withoutPayload } from '../state.js';
import type { Cell } from './best-cell.js';
import type { CellsSummary, ScopeSummary } from './job-aggregates.js';

export interface ProgressSource {
  readonly jobId: string;
  readonly revision: number;
  /** Undefined if it was never written. */
  stateOf(taskId: number, tag: string): State | undefined;
}

export function progressOf(source: ProgressSource, summary: ScopeSummary): Progress {
  return {
    revision: source.revision,
    ...partOf(source, summary),
    lostTasks: summary.lostTasks,
    tags: summary.tags.map((row) => ({ tag: row.tag, ...rowOf(partOf(source, row)) })),
  };
}

function partOf(source: ProgressSource, summary: CellsSummary): Omit<TagProgress, 'tag'> {
  const { cells, lowest, worst } = summary;
  const lowestState = stateOf(source, lowest);
  return {
    cells,
    percent: percentOf(cells),
    lowest: lowestState,
    worst: isSame(lowest, worst) ? lowestState : stateOf(source, worst),
  };
}

function rowOf(part: Omit<TagProgress, 'tag'>): Omit<TagProgress, 'tag'> {
  return { ...part, lowest: withoutPayload(part.lowest), worst: withoutPayload(part.worst) };
}

function stateOf(source: ProgressSource, { taskId, tag }: Cell): State {
  return source.stateOf(taskId, tag) ?? defaultState(source.jobId, taskId, tag);
}

function isSame(a: Cell, b: Cell): boolean {
  return a.taskId === b.taskId && a.tag === b.tag;
}

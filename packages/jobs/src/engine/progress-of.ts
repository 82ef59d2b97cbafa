// Makes a Progress of a summary: the cells that it names are looked up, those never written stand as default.
import type { Progress, TagProgress } from '../progress.js';
import type { Cell } from './best-cell.js';
import type { CellsSummary, ScopeSummary } from './job-cells.js';

export interface ProgressSource<S> {
  readonly revision: number;
  /** The default state if the cell was never written. */
  stateOf(cell: Cell): S;
  /** For the rows of tags: with 256 of them payloads would weigh more than everything else. */
  withoutPayload(state: S): S;
}

export function progressOf<S>(source: ProgressSource<S>, summary: ScopeSummary): Progress<S> {
  const partOf = ({ cells, percent, lowest, worst }: CellsSummary): Omit<TagProgress<S>, 'tag'> => {
    const isSame = lowest.taskId === worst.taskId && lowest.tag === worst.tag;
    const lowestState = source.stateOf(lowest);
    const worstState = isSame ? lowestState : source.stateOf(worst);
    return { cells, percent, lowest: lowestState, worst: worstState };
  };
  const tags = summary.tags.map((row) => {
    const part = partOf(row);
    const lowest = source.withoutPayload(part.lowest);
    const worst = source.withoutPayload(part.worst);
    return { tag: row.tag, ...part, lowest, worst };
  });
  const { lostTasks } = summary;
  return { revision: source.revision, ...partOf(summary), lostTasks, tags };
}

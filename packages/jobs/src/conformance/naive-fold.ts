// The naive fold: progress from a list of states, cell by cell. Results of stores are compared with it.
import { ClassCounts, progressUnits } from '../engine/cell-counts.js';
import type { AggregateInput } from '../engine/job-cells.js';
import {
  compareTags,
  defaultState,
  type Progress,
  type Scope,
  type State,
  severityOf,
  type TagProgress,
  withoutPayload,
} from '../job.js';

export function foldStates(input: AggregateInput, scope: Scope): Progress {
  const { job, lostTaskIds } = input;
  const states = new Map<string, State>();
  const tags = new Set<string>(job.expectedTags);
  for (const state of input.states) {
    if (scope.taskId !== undefined && state.taskId !== scope.taskId) continue;
    if (scope.tag !== undefined && state.tag !== scope.tag) continue;
    states.set(keyOf(state.taskId, state.tag), state);
    tags.add(state.tag);
  }
  const knownTags = scope.tag === undefined ? [...tags].sort(compareTags) : [scope.tag];
  const taskIds =
    scope.taskId === undefined ? Array.from({ length: job.numTasks }, (_, i) => i) : [scope.taskId];
  const stateAt = (taskId: number, tag: string): State =>
    states.get(keyOf(taskId, tag)) ?? defaultState(job.jobId, taskId, tag);
  const expected = new Set(scope.tag === undefined ? job.expectedTags : [scope.tag]);
  const whole = taskIds.flatMap((taskId) => {
    const cells = knownTags
      .filter((tag) => expected.has(tag) || states.has(keyOf(taskId, tag)))
      .map((tag) => stateAt(taskId, tag));
    return cells.length > 0 ? cells : [stateAt(taskId, '')];
  });
  const isLostInScope = (taskId: number) => scope.taskId === undefined || taskId === scope.taskId;
  return {
    revision: job.revision,
    ...summaryOf(whole),
    lostTasks: [...lostTaskIds].filter(isLostInScope).length,
    tags: knownTags.map((tag) => ({
      tag,
      ...summaryOf(taskIds.map((taskId) => withoutPayload(stateAt(taskId, tag)))),
    })),
  };
}

function summaryOf(states: readonly State[]): Omit<TagProgress, 'tag'> {
  const counts = new ClassCounts();
  for (const { status, progress } of states) counts.add(status, progressUnits(status, progress));
  const lowest = firstBy(states, (state) => state.status);
  const worst = firstBy(states, (state) => severityOf(state.status));
  return { cells: counts.toCounts(), percent: counts.percent(), lowest, worst };
}

/** Ties go to the lowest task, then to the lowest tag. */
function firstBy(states: readonly State[], rankOf: (state: State) => number): State {
  return states.reduce((first, state) => {
    const order =
      rankOf(state) - rankOf(first) ||
      state.taskId - first.taskId ||
      compareTags(state.tag, first.tag);
    return order < 0 ? state : first;
  });
}

function keyOf(taskId: number, tag: string): string {
  return `${taskId} ${tag}`;
}

import { expect, test } from 'vitest';
import type { JobInfo } from '../job.js';
import type { Cursor, JobEvent } from '../job-event.js';
import { defaultState } from '../state.js';
import { JobStatus, statusClass } from '../status.js';
import { ProgressFold } from './progress-fold.js';

const JOB: JobInfo = {
  jobId: 'nightly',
  incarnation: '1',
  numTasks: 2,
  expectedTags: ['ingest'],
  labels: {},
  createdAtMs: 0,
  changedAtMs: 0,
  revision: 1,
};
const cursor = '1:1' as Cursor;
const { started, finished } = JobStatus;

/** Task and status, told as a snapshot or a change. */
function told(kind: 'snapshot' | 'change', revision: number, cell: readonly [number, number]) {
  const [taskId, status] = cell;
  const state = { ...defaultState('nightly', taskId, 'ingest'), status, revision, version: 1 };
  return { kind, state: { ...state, statusClass: statusClass(status) }, cursor } as const;
}

function gap(reason: 'overflow' | 'compacted' | 'reset'): JobEvent {
  return { kind: 'gap', reason, fromRevision: 3, toRevision: 9 };
}

const live = { kind: 'live', revision: 9, cursor } as const;
const synced = { kind: 'synced', revision: 3, cursor, history: 'all', resumed: false } as const;
const start: JobEvent[] = [told('snapshot', 2, [0, finished]), told('snapshot', 3, [1, started])];

function wholeAfter(events: readonly JobEvent[]): { isWhole: boolean; finishedCells: number }[] {
  const fold = new ProgressFold(JOB, { tag: 'ingest' });
  return events.map((event) => {
    const isWhole = fold.take(event);
    return { isWhole, finishedCells: fold.progress().cells.finished };
  });
}

test.each(['overflow', 'compacted'] as const)(
  'behind a gap %s nothing is whole until live: task 0 was started anew before task 1 finished',
  (reason) => {
    const behind = [told('change', 8, [1, finished]), told('change', 9, [0, started])];
    const seen = wholeAfter([...start, synced, gap(reason), ...behind, live]);
    expect(seen.map(({ isWhole }) => isWhole)).toEqual([
      ...[false, false, true],
      ...[false, false, false, true],
    ]);
    expect(seen.at(-3)?.finishedCells).toBe(2); // the mixture that nobody may see
    expect(seen.at(-1)?.finishedCells).toBe(1);
  },
);

test('a live without a gap tells nothing new, and inside a replay it ends none', () => {
  const isWhole = wholeAfter([...start, live, synced, live, gap('reset'), live, synced]);
  expect(isWhole.map((step) => step.isWhole)).toEqual([
    ...[false, false, false, true],
    ...[false, false, false, true],
  ]);
});

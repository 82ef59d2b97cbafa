// Everything in a store, as read through its own replays and lists.
//
// J8   The list of states is the fold of the replay.
// J12  Progress, and the summary in the list of jobs, equal the naive fold.
import { isDeepStrictEqual } from 'node:util';
import {
  aggregateStates,
  type JobEvent,
  type JobInfo,
  type JobStore,
  type State,
  statusClass,
  type TaskLease,
} from '@syncline/jobs';
import { assert } from '@syncline/kernel';
import { pastOfCursor } from './jobs-history.js';

export interface FoundJob {
  /** Its revision is that of the metadata. */
  readonly job: JobInfo;
  readonly states: readonly State[];
  readonly leases: readonly TaskLease[];
  /** The prefix of its cursors. */
  readonly past: string;
  readonly revision: number;
}

export async function readJobs(
  store: JobStore,
  onEvent: (event: JobEvent) => void = () => {},
): Promise<readonly FoundJob[]> {
  const found: FoundJob[] = [];
  const { jobs } = await store.listJobs({});
  for (const { job } of jobs) {
    const one = await readJob(store, job.jobId, onEvent);
    if (one) found.push(one);
  }
  return found;
}

async function readJob(
  store: JobStore,
  jobId: string,
  onEvent: (event: JobEvent) => void,
): Promise<FoundJob | undefined> {
  const states: State[] = [];
  const leases: TaskLease[] = [];
  let job: JobInfo | undefined;
  const options = { scope: {}, include: ['lease', 'job'] } as const;
  for await (const event of store.subscribe(jobId, options)) {
    onEvent(event);
    if (event.kind === 'snapshot') states.push(event.state);
    if (event.kind === 'lease') leases.push(event.lease);
    if (event.kind === 'job') job = event.job;
    if (event.kind !== 'synced') continue;
    assert(job !== undefined, `J8: the replay of job "${jobId}" has no metadata`);
    const past = pastOfCursor(event.cursor);
    return { job, states, leases, past, revision: event.revision };
  }
  return undefined;
}

export async function checkProgress(store: JobStore, found: FoundJob): Promise<void> {
  const { states, leases, revision } = found;
  const { jobId } = found.job;
  const page = await store.listStates(jobId, {}, { afterRevision: 0, limit: 1_000 });
  const progress = await store.aggregate(jobId, {});
  const summary = (await store.listJobs({ prefix: jobId })).jobs[0];
  const shown = summary && { cells: summary.cells, lostTasks: summary.lostTasks };
  const isStill = progress.revision === revision && summary?.job.revision === revision;
  if (!isStill) return; // a lease was lost meanwhile
  assert(
    isDeepStrictEqual(page.states, states),
    `J8: the list of job "${jobId}" differs from its replay`,
  );
  const lost = leases.filter(({ state }) => state === 'lost').map(({ taskId }) => taskId);
  const job = { ...found.job, revision };
  const expected = aggregateStates({ job, states, lostTaskIds: new Set(lost) }, {});
  assert(
    isDeepStrictEqual(progress, expected),
    `J12: the progress of job "${jobId}" is not the fold of its states`,
  );
  const { cells, lostTasks } = expected;
  assert(
    isDeepStrictEqual(shown, { cells, lostTasks }),
    `J12: the summary of "${jobId}" is not the fold of its states`,
  );
}

/** Whether a cell of the task is neither finished nor failed. */
export function hasUnfinished({ job, states }: FoundJob, taskId: number): boolean {
  const own = states.filter((state) => state.taskId === taskId);
  const tags = new Set([...own.map(({ tag }) => tag), ...job.expectedTags]);
  if (tags.size === 0) return true;
  return [...tags].some((tag) => {
    const status = own.find((state) => state.tag === tag)?.status ?? 0;
    return !['finished', 'failed'].includes(statusClass(status));
  });
}

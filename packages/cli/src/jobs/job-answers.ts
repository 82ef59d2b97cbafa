// Validates answers about jobs before they are shown: any program may listen at that URL.
import {
  type CreatedJob,
  type JobEvent,
  type JobInfo,
  type JobList,
  jobsLimits,
  type Progress,
  type SetStateResult,
  type StatePage,
  type TaskLease,
} from '@syncline/jobs';
import {
  type Check,
  flag,
  isDeeper,
  list,
  numeric,
  optional,
  shape,
  text,
} from '../status/answer-shape.js';

export interface JobAnswer {
  readonly job: JobInfo;
  readonly progress: Progress;
  readonly lost: readonly TaskLease[];
}

export interface RemovalAnswer {
  readonly applied: boolean;
  readonly revision: number;
}

const whole =
  (min: number, max: number): Check =>
  (value) =>
    Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max;

const { value: tasksMax } = jobsLimits.tasksPerJobMax;
const count = whole(0, Number.MAX_SAFE_INTEGER);
const taskId = whole(0, tasksMax - 1);

const record = (value: Check): Check => {
  const isRecord = shape({});
  return (given) => isRecord(given) && Object.values(given as object).every(value);
};

const counts = shape({
  notStarted: count,
  running: count,
  finished: count,
  warned: count,
  failed: count,
  total: count,
});

const job = shape({
  jobId: text,
  incarnation: text,
  numTasks: whole(1, tasksMax),
  expectedTags: list(text),
  labels: record(text),
  createdAtMs: numeric,
  deletedAtMs: optional(numeric),
  revision: count,
  changedAtMs: numeric,
});

const state = shape({
  jobId: text,
  taskId,
  tag: text,
  status: whole(-(2 ** 31), 2 ** 31 - 1),
  statusClass: text,
  message: text,
  timestampMs: numeric,
  version: count,
  revision: count,
});

const lease = shape({ taskId, epoch: numeric, state: text, holder: text });

const part = { cells: counts, percent: numeric, lowest: state, worst: state };
const progress = shape({
  ...part,
  revision: count,
  lostTasks: count,
  tags: list(shape({ ...part, tag: text })),
});

const answer =
  <T>(check: Check) =>
  (body: unknown): body is T =>
    !isDeeper(body) && check(body);

export const isJobAnswer = answer<JobAnswer>(shape({ job, progress, lost: list(lease) }));
export const isJobList = answer<JobList>(
  shape({
    jobs: list(shape({ job, cells: counts, percent: numeric, lostTasks: count })),
    damaged: optional(list(text)),
    next: optional(text),
  }),
);
export const isStatePage = answer<StatePage>(
  shape({ states: list(state), revision: count, incarnation: text, more: flag }),
);
export const isRemoval = answer<RemovalAnswer>(shape({ revision: count }));
export const isCreation = answer<CreatedJob>(shape({ job, created: flag }));
export const isLeaseAnswer = answer<{ readonly lease: TaskLease }>(shape({ lease }));
export const isWriteAnswer = answer<SetStateResult>(
  shape({ applied: flag, state: optional(state), current: optional(state) }),
);

const EVENTS: Readonly<Record<JobEvent['kind'], Check>> = {
  snapshot: shape({ state, cursor: text }),
  synced: shape({ revision: count, cursor: text }),
  change: shape({ state, cursor: text }),
  gap: shape({ reason: text, fromRevision: count, toRevision: count }),
  stale: shape({ sinceMs: numeric, attempt: numeric }),
  live: shape({ revision: count, cursor: text }),
  lease: shape({ lease, cursor: text }),
  job: shape({ job, cursor: text }),
};

export function isJobEvent(body: unknown): body is JobEvent {
  if (typeof body !== 'object' || body === null || !('kind' in body)) return false;
  const check = Object.entries(EVENTS).find(([kind]) => kind === body.kind)?.[1];
  return check !== undefined && !isDeeper(body) && check(body);
}

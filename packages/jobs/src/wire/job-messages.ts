// Jobs, leases, scopes and progress between memory and the wire.
import type { JobInfo, JobSummary, Labels, TaskLease } from '../job.js';
import type { Counts, Progress, TagProgress } from '../progress.js';
import type { Scope } from '../state.js';
import {
  list,
  type Message,
  mapped,
  message,
  optionalText,
  optionalUint,
  required,
  requiredWord,
  text,
  texts,
  uint,
} from './proto-message.js';
import { type StoredState, stateMessage } from './state-message.js';
import { leaseStates } from './wire-enums.js';

/** One label: a map of texts is a list of such pairs on the wire. */
export type Label = Readonly<{ name: string; value: string }>;

export const labelMessage = message<Label>({ name: text(1), value: text(2) });

export function labelList(labels: Labels): readonly Label[] {
  return Object.entries(labels).map(([name, value]) => ({ name, value }));
}

export function labelsOf(pairs: readonly Label[]): Labels {
  return Object.fromEntries(pairs.map(({ name, value }) => [name, value]));
}

type JobFields = Omit<JobInfo, 'labels' | 'deletedAtMs'> &
  Readonly<{ labels: readonly Label[]; deletedAtMs: number | undefined }>;

export const jobMessage: Message<JobInfo> = mapped(
  message<JobFields>({
    jobId: text(1),
    incarnation: text(2),
    numTasks: uint(3),
    expectedTags: texts(4),
    labels: list(5, labelMessage),
    createdAtMs: uint(6),
    deletedAtMs: optionalUint(7),
    revision: uint(8),
    changedAtMs: uint(9),
  }),
  (job) => ({ ...job, labels: labelList(job.labels), deletedAtMs: job.deletedAtMs }),
  ({ labels, deletedAtMs, ...job }) => ({
    ...job,
    labels: labelsOf(labels),
    ...(deletedAtMs === undefined ? {} : { deletedAtMs }),
  }),
);

export const leaseMessage = message<TaskLease>({
  taskId: uint(1),
  epoch: uint(2),
  state: requiredWord(3, leaseStates),
  ttlMs: uint(4),
  expiresAtMs: uint(5),
  holder: text(6),
  revision: uint(7),
});

type ScopeFields = Readonly<{ taskId: number | undefined; tag: string | undefined }>;

export const scopeMessage: Message<Scope> = mapped(
  message<ScopeFields>({ taskId: optionalUint(1), tag: optionalText(2) }),
  ({ taskId, tag }) => ({ taskId, tag }),
  ({ taskId, tag }) => ({
    ...(taskId === undefined ? {} : { taskId }),
    ...(tag === undefined ? {} : { tag }),
  }),
);

const countsMessage: Message<Counts> = mapped(
  message<Omit<Counts, 'total'>>({
    notStarted: uint(1),
    running: uint(2),
    finished: uint(3),
    warned: uint(4),
    failed: uint(5),
  }),
  (counts) => counts,
  (counts) => ({
    ...counts,
    total: counts.notStarted + counts.running + counts.finished + counts.warned + counts.failed,
  }),
);

type WithTenths<T> = Omit<T, 'percent'> & Readonly<{ tenths: number }>;

/** Percent as whole tenths: 0 to 1,000. */
function inTenths<T extends { readonly percent: number }>(
  form: Message<WithTenths<T>>,
): Message<T> {
  return mapped(
    form,
    ({ percent, ...rest }) => ({ ...rest, tenths: Math.round(percent * 10) }),
    ({ tenths, ...rest }) => ({ ...rest, percent: tenths / 10 }) as unknown as T,
  );
}

const tagProgressMessage: Message<TagProgress<StoredState>> = inTenths(
  message<WithTenths<TagProgress<StoredState>>>({
    tag: text(1),
    cells: required(2, countsMessage),
    lowest: required(3, stateMessage),
    worst: required(4, stateMessage),
    tenths: uint(5),
  }),
);

export const progressMessage: Message<Progress<StoredState>> = inTenths(
  message<WithTenths<Progress<StoredState>>>({
    revision: uint(1),
    cells: required(2, countsMessage),
    lostTasks: uint(3),
    lowest: required(4, stateMessage),
    worst: required(5, stateMessage),
    tags: list(6, tagProgressMessage),
    tenths: uint(7),
  }),
);

export const summaryMessage: Message<JobSummary> = inTenths(
  message<WithTenths<JobSummary>>({
    job: required(1, jobMessage),
    cells: required(2, countsMessage),
    lostTasks: uint(3),
    tenths: uint(4),
  }),
);

// Checks the arguments of calls, each by a table with one check per member. State writes are in checked-write.ts, and
// cursors are checked where they are parsed.
import * as check from '@syncline/kernel/checks';
import type { JobPatch, JobQuery, JobSpec, Labels, LeaseRequest, Scope } from '../job.js';
import { compareTags, STATUS_CLASSES } from '../job.js';
import type { Cursor, StoreSubscribeOptions } from '../job-store.js';
import { type JobsLimitName, limitValues } from '../limits.js';
import * as values from './values.js';

const SPEC: check.Checks<Required<JobSpec>> = {
  jobId: values.checkJobId,
  numTasks: values.checkNumTasks,
  expectedTags: check.orDefault(checkExpectedTags, []),
  labels: check.orDefault(checkLabels, {}),
};
const PATCH: check.Checks<JobPatch> = {
  labels: check.optional(checkLabels),
  expectedTags: check.optional(checkExpectedTags),
};

export type CheckedJobQuery = Omit<JobQuery, 'limit'> & Readonly<{ limit: number }>;

const QUERY: check.Checks<CheckedJobQuery> = {
  prefix: check.optional(check.checkText),
  worst: check.optional(check.oneOf(...STATUS_CLASSES)),
  afterJobId: check.optional(values.checkJobId),
  limit: (value = limitValues.listJobsMax) => values.checkPageLimit(value, limitValues.listJobsMax),
};
const LEASE: check.Checks<LeaseRequest> = {
  jobId: values.checkJobId,
  incarnation: values.checkIncarnation,
  taskId: (value) => values.checkTaskId(value),
  action: check.oneOf('claim', 'renew', 'release'),
  epoch: values.checkEpoch,
  ttlMs: values.checkTtlMs,
  holder: values.checkHolder,
};

export const checkJobSpec = (spec: JobSpec) => check.checkMembers(spec, 'the job', SPEC);
export const checkJobPatch = (patch: JobPatch) => check.checkMembers(patch, 'the patch', PATCH);
export const checkJobQuery = (query: JobQuery) => check.checkMembers(query, 'the query', QUERY);
export const checkLeaseRequest = (request: LeaseRequest) =>
  check.checkMembers(request, 'the lease request', LEASE);

/** Given `numTasks`, also checks that the job has the task. */
export function checkScope(scope: Scope, numTasks?: number): Scope {
  const taskId = check.optional((value) => values.checkTaskId(value, numTasks));
  const tag = check.optional(values.checkTag);
  return check.checkMembers<Scope>(scope, 'the scope', { taskId, tag });
}

const { bufferEventsMin, bufferEventsMax, bufferBytesMin, bufferBytesMax } = limitValues;
const checkBuffer = check.members({
  maxEvents: check.orDefault(check.integer('maxEvents', bufferEventsMin, bufferEventsMax), 256),
  maxBytes: check.orDefault(check.integer('maxBytes', bufferBytesMin, bufferBytesMax), 1 << 20),
});
const checkInclude = check.checkThat<NonNullable<StoreSubscribeOptions['include']>>(
  (value) => Array.isArray(value) && value.every((kind) => kind === 'lease' || kind === 'job'),
  "a list of 'lease' and 'job'",
  'include',
);

const SUBSCRIPTION = {
  after: check.anyValue as check.Check<Cursor | undefined>,
  include: check.orDefault(checkInclude, []),
  overflow: check.orDefault(check.oneOf('block', 'coalesce', 'fail'), 'block'),
  buffer: check.orDefault(checkBuffer, {}),
  signal: check.anyValue as check.Check<AbortSignal | undefined>,
};

export function checkSubscribeOptions(options: StoreSubscribeOptions, numTasks?: number) {
  const scope = (value: unknown) => checkScope(value as Scope, numTasks);
  return check.checkMembers(options, 'the subscription options', { scope, ...SUBSCRIPTION });
}

/** Sorted by bytes, without duplicates. */
function checkExpectedTags(value: unknown): readonly string[] {
  check.refuseUnless(Array.isArray(value), 'expectedTags', { value, wanted: 'a list of tags' });
  const tags = new Set<string>();
  for (const tag of value) {
    tags.add(values.checkTag(tag, 'expectedTags'));
    values.checkRoom('tagsPerJobMax', tags.size, 'expected tags');
  }
  return [...tags].sort(compareTags);
}

export function checkLabels(value: unknown): Labels {
  const entries: readonly [string, unknown][] = Object.entries(check.checkObject(value, 'labels'));
  values.checkRoom('labelsMax', entries.length, 'labels');
  const labels = entries.map(([name, text]) => {
    check.refuseUnless(name !== '', 'labels', { value: name, wanted: 'a name' });
    return [
      withinBytes(name, 'a label name', 'labelNameBytesMax'),
      withinBytes(check.checkText(text, 'labels'), 'a label value', 'labelValueBytesMax'),
    ];
  });
  return Object.fromEntries(labels) as Labels;
}

/** Replaces lone surrogates with U+FFFD, as encoding for the wire would. PostgreSQL cannot store NUL characters. */
function withinBytes(text: string, what: string, limit: JobsLimitName): string {
  check.refuseUnless(!text.includes('\0'), 'labels', { value: text, wanted: 'text without NUL' });
  const bytes = Buffer.from(text);
  values.checkBytes(limit, bytes.length, what);
  return bytes.toString();
}

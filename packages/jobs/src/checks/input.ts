// Checks the arguments of calls, each by a table with one check per member. State writes are in checked-write.ts, and
// cursors are checked where they are parsed.
import {
  compareTags,
  type JobPatch,
  type JobQuery,
  type JobSpec,
  type JobSummary,
  type Labels,
  type LeaseRequest,
  type Scope,
  STATUS_CLASSES,
} from '../job.js';
import type { StoreSubscribeOptions } from '../job-store.js';
import { type JobsLimitName, limitValues } from '../limits.js';
import {
  anyValue,
  type Checks,
  checkEpoch,
  checkHolder,
  checkIncarnation,
  checkJobId,
  checkMembers,
  checkNumTasks,
  checkObject,
  checkPageLimit,
  checkTag,
  checkTaskId,
  checkText,
  checkThat,
  checkTtlMs,
  integer,
  limitExceeded,
  members,
  oneOf,
  optional,
  orDefault,
  refuseUnless,
} from './values.js';

const SPEC: Checks<Required<JobSpec>> = {
  jobId: checkJobId,
  numTasks: checkNumTasks,
  expectedTags: orDefault(checkExpectedTags, []),
  labels: orDefault(checkLabels, {}),
};
const PATCH: Checks<JobPatch> = {
  labels: optional(checkLabels),
  expectedTags: optional(checkExpectedTags),
};

export type CheckedJobQuery = Omit<JobQuery, 'limit'> & Readonly<{ limit: number }>;

const QUERY: Checks<CheckedJobQuery> = {
  prefix: optional(checkText),
  worst: optional(oneOf(...STATUS_CLASSES)),
  afterJobId: optional(checkJobId),
  limit: (value = limitValues.listJobsMax) => checkPageLimit(value, limitValues.listJobsMax),
};
const LEASE: Checks<LeaseRequest> = {
  jobId: checkJobId,
  incarnation: checkIncarnation,
  taskId: (value) => checkTaskId(value),
  action: oneOf('claim', 'renew', 'release'),
  epoch: checkEpoch,
  ttlMs: checkTtlMs,
  holder: checkHolder,
};

export const checkJobSpec = (spec: JobSpec) => checkMembers(spec, 'the job', SPEC);
export const checkJobPatch = (patch: JobPatch) => checkMembers(patch, 'the patch', PATCH);
export const checkJobQuery = (query: JobQuery) => checkMembers(query, 'the query', QUERY);
export const checkLeaseRequest = (request: LeaseRequest) =>
  checkMembers(request, 'the lease request', LEASE);

/** Given `numTasks`, also checks that the job has the task. */
export function checkScope(scope: Scope, numTasks?: number): Scope {
  const taskId = optional((value) => checkTaskId(value, numTasks));
  return checkMembers<Scope>(scope, 'the scope', { taskId, tag: optional(checkTag) });
}

export type CheckedSubscribeOptions = StoreSubscribeOptions &
  Readonly<Required<Pick<StoreSubscribeOptions, 'include' | 'overflow'>>> &
  Readonly<{ buffer: Readonly<{ maxEvents: number; maxBytes: number }> }>;

const { bufferEventsMin, bufferEventsMax, bufferBytesMin, bufferBytesMax } = limitValues;
const checkBuffer = members<CheckedSubscribeOptions['buffer']>({
  maxEvents: orDefault(integer('maxEvents', bufferEventsMin, bufferEventsMax), 256),
  maxBytes: orDefault(integer('maxBytes', bufferBytesMin, bufferBytesMax), 1 << 20),
});
const checkInclude = checkThat<CheckedSubscribeOptions['include']>(
  (value) => Array.isArray(value) && value.every((kind) => kind === 'lease' || kind === 'job'),
  "a list of 'lease' and 'job'",
  'include',
);

export function checkSubscribeOptions(
  options: StoreSubscribeOptions,
  numTasks?: number,
): CheckedSubscribeOptions {
  return checkMembers<CheckedSubscribeOptions>(options, 'the subscription options', {
    scope: (value) => checkScope(value as Scope, numTasks),
    after: anyValue,
    include: orDefault(checkInclude, []),
    overflow: orDefault(oneOf('block', 'coalesce', 'fail'), 'block'),
    buffer: orDefault(checkBuffer, {}),
    signal: anyValue,
  });
}

/** Sorted by bytes, without duplicates. */
function checkExpectedTags(value: unknown): readonly string[] {
  refuseUnless(Array.isArray(value), 'expectedTags', { value, wanted: 'a list of tags' });
  const { tagsPerJobMax: tagsMax } = limitValues;
  const tags = new Set<string>();
  for (const tag of value) {
    tags.add(checkTag(tag, 'expectedTags'));
    if (tags.size > tagsMax)
      throw limitExceeded('tagsPerJobMax', `more than ${tagsMax} expected tags`);
  }
  return [...tags].sort(compareTags);
}

export function checkLabels(value: unknown): Labels {
  const { labelsMax } = limitValues;
  const entries: readonly [string, unknown][] = Object.entries(checkObject(value, 'labels'));
  if (entries.length > labelsMax)
    throw limitExceeded('labelsMax', `${entries.length} labels; at most ${labelsMax} are allowed`);
  const labels = entries.map(([name, text]) => {
    refuseUnless(name !== '', 'labels', { value: name, wanted: 'a name' });
    return [
      withinBytes(name, 'a label name', 'labelNameBytesMax'),
      withinBytes(checkText(text, 'labels'), 'a label value', 'labelValueBytesMax'),
    ];
  });
  return Object.fromEntries(labels) as Labels;
}

/** Replaces lone surrogates with U+FFFD, as encoding for the wire would. */
function withinBytes(text: string, what: string, limit: JobsLimitName): string {
  const bytes = Buffer.from(text);
  const bytesMax = limitValues[limit];
  if (bytes.length <= bytesMax) return bytes.toString();
  throw limitExceeded(limit, `${what} has more than ${bytesMax} bytes, which is the limit`);
}

/** Whether `worst` is the most severe class that contains a cell. Every job has at least one cell. */
export function isSummaryWanted({ worst }: JobQuery, { cells }: JobSummary): boolean {
  const counts = { ...cells, 'not-started': cells.notStarted };
  return worst === undefined || worst === STATUS_CLASSES.find((each) => counts[each] > 0);
}

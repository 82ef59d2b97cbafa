// Checks the arguments of calls that create, change and list jobs.
import {
  type Counts,
  compareTags,
  type JobPatch,
  type JobQuery,
  type JobSpec,
  type JobSummary,
  type Labels,
  type LeaseRequest,
  type Scope,
  STATUS_CLASSES,
  type StatusClass,
} from '../job.js';
import type { Overflow, StoreSubscribeOptions } from '../job-store.js';
import { jobsLimits } from '../limits.js';
import { checkIncarnation } from './checked-write.js';
import {
  checkEpoch,
  checkHolder,
  checkInteger,
  checkJobId,
  checkKnownKeys,
  checkNumTasks,
  checkObject,
  checkPageLimit,
  checkTag,
  checkTaskId,
  checkTtlMs,
  type KnownKeys,
  limitExceeded,
  refuseUnless,
} from './values.js';

const SPEC: KnownKeys<Required<JobSpec>> = {
  jobId: true,
  numTasks: true,
  expectedTags: true,
  labels: true,
};
const PATCH: KnownKeys<Required<JobPatch>> = { labels: true, expectedTags: true };
const QUERY: KnownKeys<Required<JobQuery>> = {
  prefix: true,
  worst: true,
  afterJobId: true,
  limit: true,
};

export function checkJobSpec(spec: JobSpec): Required<JobSpec> {
  checkKnownKeys(spec, 'the job', SPEC);
  const { expectedTags = [], labels = {} } = spec;
  return {
    jobId: checkJobId(spec.jobId),
    numTasks: checkNumTasks(spec.numTasks),
    expectedTags: checkExpectedTags(expectedTags),
    labels: checkLabels(labels),
  };
}

export function checkJobPatch(patch: JobPatch): JobPatch {
  checkKnownKeys(patch, 'the patch', PATCH);
  const { labels, expectedTags } = patch;
  return {
    ...(labels === undefined ? {} : { labels: checkLabels(labels) }),
    ...(expectedTags === undefined ? {} : { expectedTags: checkExpectedTags(expectedTags) }),
  };
}

/** Sorted by bytes, without duplicates. */
function checkExpectedTags(value: unknown): readonly string[] {
  refuseUnless(Array.isArray(value), 'expectedTags', { value, wanted: 'a list of tags' });
  const { value: tagsMax } = jobsLimits.tagsPerJobMax;
  const tags = new Set<string>();
  for (const tag of value) {
    tags.add(checkTag(tag, 'expectedTags'));
    if (tags.size > tagsMax)
      throw limitExceeded('tagsPerJobMax', `more than ${tagsMax} expected tags`);
  }
  return [...tags].sort(compareTags);
}

function checkLabels(value: unknown): Labels {
  const { labelsMax, labelNameBytesMax, labelValueBytesMax } = jobsLimits;
  const entries: readonly [string, unknown][] = Object.entries(checkObject(value, 'labels'));
  if (entries.length > labelsMax.value)
    throw limitExceeded(
      'labelsMax',
      `${entries.length} labels; at most ${labelsMax.value} are allowed`,
    );
  const labels = entries.map(([name, text]) => {
    refuseUnless(name !== '', 'labels', { value: name, wanted: 'a name' });
    refuseUnless(typeof text === 'string', 'labels', { value: text, wanted: 'a string' });
    if (Buffer.byteLength(name) > labelNameBytesMax.value)
      throw limitExceeded('labelNameBytesMax', tooLong('a label name', labelNameBytesMax.value));
    if (Buffer.byteLength(text) > labelValueBytesMax.value)
      throw limitExceeded('labelValueBytesMax', tooLong('a label value', labelValueBytesMax.value));
    return [wellFormed(name), wellFormed(text)] as const;
  });
  return Object.fromEntries(labels);
}

export type CheckedJobQuery = Omit<JobQuery, 'limit'> & Readonly<{ limit: number }>;

export function checkJobQuery(query: JobQuery): CheckedJobQuery {
  checkKnownKeys(query, 'the query', QUERY);
  const { value: most } = jobsLimits.listJobsMax;
  const { prefix, worst, afterJobId, limit = most } = query;
  refuseUnless(prefix === undefined || typeof prefix === 'string', 'prefix', {
    value: prefix,
    wanted: 'a string',
  });
  refuseUnless(worst === undefined || STATUS_CLASSES.includes(worst), 'worst', {
    value: worst,
    wanted: `one of ${STATUS_CLASSES.join(', ')}`,
  });
  if (afterJobId !== undefined) checkJobId(afterJobId, 'afterJobId');
  return { ...query, limit: checkPageLimit(limit, most) };
}

function tooLong(what: string, bytesMax: number): string {
  return `${what} has more than ${bytesMax} bytes, which is the limit`;
}

/** Replaces lone surrogates with U+FFFD, as encoding for the wire would. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}

// Lease requests and read scopes. State writes are in checked-write.ts.

export function checkLeaseRequest(request: LeaseRequest): LeaseRequest {
  const { action } = request;
  const isAction = action === 'claim' || action === 'renew' || action === 'release';
  refuseUnless(isAction, 'action', { value: action, wanted: "'claim', 'renew' or 'release'" });
  return {
    jobId: checkJobId(request.jobId),
    incarnation: checkIncarnation(request.incarnation),
    taskId: checkTaskId(request.taskId),
    action,
    epoch: checkEpoch(request.epoch),
    ttlMs: checkTtlMs(request.ttlMs),
    holder: checkHolder(request.holder),
  };
}

const SCOPE: KnownKeys<Required<Scope>> = { taskId: true, tag: true };

/** Given `numTasks`, also checks that the job has the task. */
export function checkScope(scope: Scope, numTasks?: number): Scope {
  checkKnownKeys(scope, 'the scope', SCOPE);
  const { taskId, tag } = scope;
  return {
    ...(taskId === undefined ? {} : { taskId: checkTaskId(taskId, numTasks) }),
    ...(tag === undefined ? {} : { tag: checkTag(tag) }),
  };
}

// Subscription options. The cursor is checked where it is parsed.

const BUFFER_EVENTS_DEFAULT = 256;
const BUFFER_BYTES_DEFAULT = 1 << 20;
const OVERFLOWS: readonly unknown[] = ['block', 'coalesce', 'fail'] satisfies readonly Overflow[];

const KNOWN: KnownKeys<Required<StoreSubscribeOptions>> = {
  scope: true,
  after: true,
  include: true,
  overflow: true,
  buffer: true,
  signal: true,
};
const BUFFER: KnownKeys<CheckedSubscribeOptions['buffer']> = { maxEvents: true, maxBytes: true };

export type CheckedSubscribeOptions = Omit<StoreSubscribeOptions, 'overflow' | 'buffer'> &
  Readonly<{
    scope: Scope;
    include: readonly ('lease' | 'job')[];
    overflow: Overflow;
    buffer: Readonly<{ maxEvents: number; maxBytes: number }>;
  }>;

export function checkSubscribeOptions(
  options: StoreSubscribeOptions,
  numTasks?: number,
): CheckedSubscribeOptions {
  checkKnownKeys(options, 'the subscription options', KNOWN);
  const { include = [], overflow = 'block', buffer = {} } = options;
  const isInclude =
    Array.isArray(include) && include.every((kind) => kind === 'lease' || kind === 'job');
  refuseUnless(isInclude, 'include', { value: include, wanted: "a list of 'lease' and 'job'" });
  refuseUnless(OVERFLOWS.includes(overflow), 'overflow', {
    value: overflow,
    wanted: "'block', 'coalesce' or 'fail'",
  });
  checkKnownKeys(buffer, 'buffer', BUFFER);
  return {
    ...options,
    scope: checkScope(options.scope, numTasks),
    include,
    overflow,
    buffer: checkBuffer(buffer),
  };
}

function checkBuffer({
  maxEvents = BUFFER_EVENTS_DEFAULT,
  maxBytes = BUFFER_BYTES_DEFAULT,
}: NonNullable<StoreSubscribeOptions['buffer']>): CheckedSubscribeOptions['buffer'] {
  const { bufferEventsMin, bufferEventsMax, bufferBytesMin, bufferBytesMax } = jobsLimits;
  const events = { min: bufferEventsMin.value, max: bufferEventsMax.value };
  const bytes = { min: bufferBytesMin.value, max: bufferBytesMax.value };
  return {
    maxEvents: checkInteger(maxEvents, 'buffer.maxEvents', events),
    maxBytes: checkInteger(maxBytes, 'buffer.maxBytes', bytes),
  };
}

export function isSummaryWanted({ worst }: JobQuery, { cells }: JobSummary): boolean {
  return worst === undefined || worst === worstClassOf(cells);
}

/** The most severe class that contains a cell. Every job has at least one cell. */
function worstClassOf(cells: Counts): StatusClass | undefined {
  return STATUS_CLASSES.find((each) => countOf(cells, each) > 0);
}

function countOf(cells: Counts, statusClass: StatusClass): number {
  return statusClass === 'not-started' ? cells.notStarted : cells[statusClass];
}

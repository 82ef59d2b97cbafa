// What is given to create, change and list jobs.
import type { JobPatch, JobQuery, JobSpec, Labels } from '../job.js';
import { jobsLimits } from '../limits.js';
import { STATUS_CLASSES } from '../status.js';
import { compareTags } from '../tag-order.js';
import { checkNumTasks, checkPageLimit } from './numbers.js';
import { checkObject, limitExceeded, refuseUnless } from './refuse.js';
import { checkJobId, checkTag } from './text.js';

/** With what was not given filled in. */
export function checkJobSpec(spec: JobSpec): Required<JobSpec> {
  const { expectedTags = [], labels = {} } = spec;
  return {
    jobId: checkJobId(spec.jobId),
    numTasks: checkNumTasks(spec.numTasks),
    expectedTags: checkExpectedTags(expectedTags),
    labels: checkLabels(labels),
  };
}

export function checkJobPatch({ labels, expectedTags }: JobPatch): JobPatch {
  return {
    ...(labels === undefined ? {} : { labels: checkLabels(labels) }),
    ...(expectedTags === undefined ? {} : { expectedTags: checkExpectedTags(expectedTags) }),
  };
}

/** In order of their bytes, each once. */
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

/** A copy. */
function checkLabels(value: unknown): Labels {
  const { labelsMax, labelNameBytesMax, labelValueBytesMax } = jobsLimits;
  const entries: readonly [string, unknown][] = Object.entries(checkObject(value, 'labels'));
  if (entries.length > labelsMax.value)
    throw limitExceeded('labelsMax', `${entries.length} labels; ${labelsMax.value} is the limit`);
  const labels = entries.map(([name, text]) => {
    refuseUnless(name !== '', 'labels', { value: name, wanted: 'a name' });
    refuseUnless(typeof text === 'string', 'labels', { value: text, wanted: 'a text' });
    if (Buffer.byteLength(name) > labelNameBytesMax.value)
      throw limitExceeded('labelNameBytesMax', tooLong('a label name', labelNameBytesMax.value));
    if (Buffer.byteLength(text) > labelValueBytesMax.value)
      throw limitExceeded('labelValueBytesMax', tooLong('a label', labelValueBytesMax.value));
    return [wellFormed(name), wellFormed(text)] as const;
  });
  return Object.fromEntries(labels);
}

export type CheckedJobQuery = Omit<JobQuery, 'limit'> & Readonly<{ limit: number }>;

export function checkJobQuery(query: JobQuery): CheckedJobQuery {
  const { value: most } = jobsLimits.listJobsMax;
  const { prefix, worst, afterJobId, limit = most } = query;
  refuseUnless(prefix === undefined || typeof prefix === 'string', 'prefix', {
    value: prefix,
    wanted: 'a text',
  });
  refuseUnless(worst === undefined || STATUS_CLASSES.includes(worst), 'worst', {
    value: worst,
    wanted: STATUS_CLASSES.join(', '),
  });
  if (afterJobId !== undefined) checkJobId(afterJobId, 'afterJobId');
  return { ...query, limit: checkPageLimit(limit, most) };
}

function tooLong(what: string, bytesMax: number): string {
  return `${what} of more than ${bytesMax} bytes, the limit`;
}

/** What has no UTF-8 form becomes U+FFFD, as it would on the wire. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}

// What stands behind the `?` of a request about jobs, checked.
//
// A name that is not known is refused. Ignored, `?makr` would delete a job for good that was meant to be
// marked, and `?taks=3` would show the whole job as if it were one task.
import { type JobQuery, jobsLimits, type Scope, type StatusClass } from '@syncline/jobs';
import { SynclineError } from '@syncline/kernel';

const CLASSES = ['failed', 'warned', 'not-started', 'running', 'finished'] as const;
const INCLUDED = ['lease', 'job'] as const;

export function refuseOthers(query: URLSearchParams, names: readonly string[]): void {
  for (const name of query.keys()) {
    if (names.includes(name) && query.getAll(name).length === 1) continue;
    const known = names.length === 0 ? 'none is' : `allowed is each once: ${names.join(', ')}`;
    throw invalid(
      name.slice(0, 100),
      `the parameter ${quoted(name)} is not expected here; ${known}.`,
    );
  }
}

export function scopeOf(query: URLSearchParams): Scope {
  const tag = query.get('tag');
  const taskId = integerOf(query, 'task', { min: 0, max: jobsLimits.tasksPerJobMax.value - 1 });
  return { ...(taskId === undefined ? {} : { taskId }), ...(tag === null ? {} : { tag }) };
}

export function jobQueryOf(query: URLSearchParams): JobQuery {
  const prefix = query.get('prefix');
  const afterJobId = query.get('after');
  const worst = query.get('worst');
  const limit = integerOf(query, 'limit', { min: 1, max: jobsLimits.listJobsMax.value });
  return {
    ...(prefix === null ? {} : { prefix }),
    ...(afterJobId === null ? {} : { afterJobId }),
    ...(worst === null ? {} : { worst: classOf(worst) }),
    ...(limit === undefined ? {} : { limit }),
  };
}

export function statePageOf(query: URLSearchParams): { afterRevision: number; limit: number } {
  const range = { min: 0, max: Number.MAX_SAFE_INTEGER };
  const limitMax = jobsLimits.listStatesMax.value;
  return {
    afterRevision: integerOf(query, 'afterRevision', range) ?? 0,
    limit: integerOf(query, 'limit', { min: 1, max: limitMax }) ?? limitMax,
  };
}

/** `?include=lease,job`: events besides those of states. */
export function includeOf(query: URLSearchParams): readonly (typeof INCLUDED)[number][] {
  const names = query.get('include')?.split(',') ?? [];
  const unknown = names.find((name) => !INCLUDED.some((known) => known === name));
  if (unknown === undefined) return INCLUDED.filter((known) => names.includes(known));
  throw invalid(
    'include',
    `include names ${quoted(unknown)}; allowed are ${INCLUDED.join(' and ')}, with a comma between them.`,
  );
}

/** `?mark`, with or without a value that says yes. */
export function isMark(query: URLSearchParams): boolean {
  const value = query.get('mark');
  if (value === null || value === '' || value === 'true') return value !== null;
  throw invalid('mark', `mark is ${quoted(value)}; leave its value out, or write true.`);
}

function classOf(text: string): StatusClass {
  const found = CLASSES.find((name) => name === text);
  if (found !== undefined) return found;
  throw invalid('worst', `worst is ${quoted(text)}; allowed is one of ${CLASSES.join(', ')}.`);
}

function integerOf(
  query: URLSearchParams,
  name: string,
  { min, max }: { readonly min: number; readonly max: number },
): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw invalid(
    name,
    `${name} is ${quoted(text)}; allowed is a whole number from ${min} to ${max}.`,
  );
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}

function invalid(field: string, message: string): SynclineError {
  return new SynclineError('invalid-argument', message, { details: { field } });
}

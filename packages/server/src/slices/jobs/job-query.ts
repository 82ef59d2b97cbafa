// The query of a request about jobs. Numbers are checked here, since the store does not see strings; the rest is
// checked by the store.
import { type JobQuery, jobsLimits, type Scope, type StatusClass } from '@syncline/jobs';
import { SynclineError } from '@syncline/kernel';
import { integerParameter } from '../../http/query-parameters.js';

export function scopeOf(query: URLSearchParams): Scope {
  const tag = query.get('tag');
  const taskId = integerParameter(query, 'task', {
    min: 0,
    max: jobsLimits.tasksPerJobMax.value - 1,
  });
  return { ...(taskId === undefined ? {} : { taskId }), ...(tag === null ? {} : { tag }) };
}

export function jobQueryOf(query: URLSearchParams): JobQuery {
  const prefix = query.get('prefix');
  const afterJobId = query.get('after');
  const worst = query.get('worst');
  const limit = integerParameter(query, 'limit', { min: 1, max: jobsLimits.listJobsMax.value });
  return {
    ...(prefix === null ? {} : { prefix }),
    ...(afterJobId === null ? {} : { afterJobId }),
    ...(worst === null ? {} : { worst: worst as StatusClass }),
    ...(limit === undefined ? {} : { limit }),
  };
}

export function statePageOf(query: URLSearchParams): { afterRevision: number; limit: number } {
  const range = { min: 0, max: Number.MAX_SAFE_INTEGER };
  const limitMax = jobsLimits.listStatesMax.value;
  return {
    afterRevision: integerParameter(query, 'afterRevision', range) ?? 0,
    limit: integerParameter(query, 'limit', { min: 1, max: limitMax }) ?? limitMax,
  };
}

/** `?include=lease,job`: events besides those of states. */
export function includeOf(query: URLSearchParams): readonly ('lease' | 'job')[] {
  return (query.get('include')?.split(',') ?? []) as ('lease' | 'job')[];
}

/** `?mark`, with or without a value that says yes. */
export function isMark(query: URLSearchParams): boolean {
  const value = query.get('mark');
  if (value === null || value === '' || value === 'true') return value !== null;
  const message = `mark is ${JSON.stringify(value.slice(0, 100))}; omit the value, or use true.`;
  throw new SynclineError('invalid-argument', message, { details: { field: 'mark' } });
}

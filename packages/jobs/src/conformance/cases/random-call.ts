// One call of a store, drawn at random from so few names and numbers that calls meet: repeats, old epochs, jobs
// that were deleted, versions that do not hold.
import type { Random } from '@syncline/kernel';
import type { JobPatch, JobQuery, JobSpec, LeaseRequest } from '../../job.js';
import type { StateWrite } from '../../job-store.js';
import type { Scope } from '../../state.js';
import { STATUS_CLASSES } from '../../status.js';

export type StoreCall =
  | { readonly do: 'create'; readonly spec: JobSpec }
  | { readonly do: 'update'; readonly jobId: string; readonly patch: JobPatch }
  | { readonly do: 'mark' | 'delete' | 'job'; readonly jobId: string }
  /** `age`: of how many incarnations ago the caller is. */
  | {
      readonly do: 'lease';
      readonly request: Omit<LeaseRequest, 'incarnation'>;
      readonly age: number;
    }
  | { readonly do: 'write'; readonly write: Omit<StateWrite, 'incarnation'>; readonly age: number }
  | {
      readonly do: 'list';
      readonly jobId: string;
      readonly scope: Scope;
      readonly page: { readonly afterRevision: number; readonly limit: number };
    }
  | { readonly do: 'get'; readonly jobId: string; readonly taskId: number; readonly tag: string }
  | { readonly do: 'progress'; readonly jobId: string; readonly scope: Scope }
  | { readonly do: 'jobs'; readonly query: JobQuery };

const JOB_IDS = ['a', 'b'] as const;
const TAGS = ['x', 'é', 'z'] as const;
const STATUSES = [0, 1, 9, 2_147_483_647, -1, -2, -3] as const;

export function drawCall(
  random: Random,
  below: (random: Random, bound: number) => number,
): StoreCall {
  const pick = <T>(list: readonly T[]): T => list[below(random, list.length)] as T;
  const some = <T>(list: readonly T[]): readonly T[] => list.filter(() => random.float() < 0.4);
  const chance = (probability: number) => random.float() < probability;
  const jobId = pick(JOB_IDS);
  const taskId = below(random, 3);
  const tag = pick(TAGS);
  const epoch = below(random, 4);
  const age = chance(0.9) ? 0 : 1;
  const scope = { ...(chance(0.4) && { taskId }), ...(chance(0.4) && { tag }) };
  const draw = random.float();
  if (draw < 0.06) {
    const spec = { jobId, numTasks: 1 + below(random, 3), expectedTags: some(TAGS) };
    return { do: 'create', spec };
  }
  if (draw < 0.1) {
    const labels = { stage: pick(['one', 'two']) };
    const patch = {
      ...(chance(0.5) && { labels }),
      ...(chance(0.6) && { expectedTags: some(TAGS) }),
    };
    return { do: 'update', jobId, patch };
  }
  if (draw < 0.11) return { do: 'mark', jobId };
  if (draw < 0.13) return { do: 'delete', jobId };
  if (draw < 0.25) {
    const action = pick(['claim', 'claim', 'renew', 'release'] as const);
    const request = { jobId, taskId, action, epoch, ttlMs: 0, holder: pick(['', 'host']) };
    return { do: 'lease', request, age };
  }
  if (draw < 0.7) {
    const status = pick(STATUSES);
    const write = {
      jobId,
      taskId,
      epoch,
      tag,
      status,
      message: pick(['', '🟢 ok']),
      schemaVersion: 1,
      eventId: `e${below(random, 40)}`,
      ...(chance(0.2) && { payload: { status, list: [1, 'two', null] } }),
      ...(chance(0.2) && { ifVersion: below(random, 4) }),
    };
    return { do: 'write', write, age };
  }
  if (draw < 0.78) {
    const page = { afterRevision: below(random, 12), limit: 1 + below(random, 5) };
    return { do: 'list', jobId, scope, page };
  }
  if (draw < 0.84) return { do: 'get', jobId, taskId, tag };
  if (draw < 0.94) return { do: 'progress', jobId, scope };
  if (draw < 0.97) return { do: 'job', jobId };
  const query = {
    ...(chance(0.5) && { worst: pick(STATUS_CLASSES) }),
    limit: 1 + below(random, 2),
  };
  return { do: 'jobs', query };
}

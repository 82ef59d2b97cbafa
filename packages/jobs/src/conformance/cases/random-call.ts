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
  | { readonly do: 'lease'; readonly request: Omit<LeaseRequest, keyof Claim>; readonly age: Age }
  | { readonly do: 'write'; readonly write: Omit<StateWrite, keyof Claim>; readonly age: Age }
  | {
      readonly do: 'list';
      readonly jobId: string;
      readonly scope: Scope;
      readonly page: { readonly afterRevision: number; readonly limit: number };
    }
  | { readonly do: 'get'; readonly jobId: string; readonly taskId: number; readonly tag: string }
  | { readonly do: 'progress'; readonly jobId: string; readonly scope: Scope }
  | { readonly do: 'jobs'; readonly query: JobQuery };

type Claim = Pick<StateWrite, 'incarnation' | 'epoch'>;

/** How many incarnations, and how many claims, ago the caller had its task. */
export interface Age {
  readonly incarnations: number;
  readonly epochs: number;
}

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
  const taskId = chance(0.95) ? below(random, 2) : 2;
  const tag = pick(TAGS);
  const age = { incarnations: chance(0.95) ? 0 : 1, epochs: chance(0.9) ? 0 : pick([1, -1]) };
  const scope = { ...(chance(0.4) && { taskId }), ...(chance(0.4) && { tag }) };
  const draw = random.float();
  if (draw < 0.08) {
    const spec = { jobId, numTasks: 2 + below(random, 2), expectedTags: some(TAGS) };
    return { do: 'create', spec };
  }
  if (draw < 0.11) {
    const labels = { stage: pick(['one', 'two']) };
    const patch = {
      ...(chance(0.5) && { labels }),
      ...(chance(0.6) && { expectedTags: some(TAGS) }),
    };
    return { do: 'update', jobId, patch };
  }
  if (draw < 0.115) return { do: 'mark', jobId };
  if (draw < 0.13) return { do: 'delete', jobId };
  if (draw < 0.25) {
    const action = pick(['claim', 'claim', 'renew', 'release'] as const);
    const request = { jobId, taskId, action, ttlMs: 0, holder: pick(['', 'host']) };
    return { do: 'lease', request, age };
  }
  if (draw < 0.7) {
    const event = below(random, 25);
    const status = chance(0.95) ? (STATUSES[event % STATUSES.length] ?? 0) : 5; // a repeat, mostly
    const write = {
      jobId,
      taskId,
      tag,
      status,
      message: event % 2 === 0 ? '' : '🟢 ok',
      schemaVersion: 1,
      eventId: `e${event}`,
      ...(event % 5 === 0 && { payload: { status, list: [1, 'two', null] } }),
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

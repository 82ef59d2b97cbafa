// One call of a store, drawn at random from so few names and numbers that calls interact: repeats, old epochs,
// deleted jobs, version conflicts.
import { type Random, randomBelow } from '@syncline/kernel';
import type { JobPatch, JobQuery, JobSpec, LeaseRequest, Scope } from '../../job.js';
import { STATUS_CLASSES } from '../../job.js';
import type { StateWrite } from '../../job-store.js';

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

/** How many incarnations, and how many claims, ago the caller claimed its task. */
export interface Age {
  readonly incarnations: number;
  readonly epochs: number;
}

const JOB_IDS = ['a', 'b'] as const;
const TAGS = ['x', 'é', 'z'] as const;
const STATUSES = [0, 1, 9, 2_147_483_647, -1, -2, -3] as const;

export function drawCall(random: Random): StoreCall {
  const draw = new Draw(random);
  const kind = random.float();
  if (kind < 0.135) return draw.metadata();
  if (kind < 0.25) return draw.lease();
  return kind < 0.7 ? draw.write() : draw.read();
}

class Draw {
  readonly #random: Random;
  readonly #jobId: string;
  readonly #taskId: number;
  readonly #tag: string;

  constructor(random: Random) {
    this.#random = random;
    this.#jobId = this.#pick(JOB_IDS);
    this.#taskId = this.#chance(0.95) ? this.#below(2) : 2;
    this.#tag = this.#pick(TAGS);
  }

  metadata(): StoreCall {
    const jobId = this.#jobId;
    const kind = this.#random.float();
    const expectedTags = TAGS.filter(() => this.#chance(0.4));
    if (kind < 0.6)
      return { do: 'create', spec: { jobId, numTasks: 2 + this.#below(2), expectedTags } };
    if (kind < 0.85) {
      const labels = { stage: this.#pick(['one', 'two']) };
      const patch = {
        ...(this.#chance(0.5) && { labels }),
        ...(this.#chance(0.6) && { expectedTags }),
      };
      return { do: 'update', jobId, patch };
    }
    return { do: kind < 0.9 ? 'mark' : 'delete', jobId };
  }

  lease(): StoreCall {
    const action = this.#pick(['claim', 'claim', 'renew', 'release'] as const);
    const holder = this.#pick(['', 'host']);
    const request = { jobId: this.#jobId, taskId: this.#taskId, action, ttlMs: 0, holder };
    return { do: 'lease', request, age: this.#age() };
  }

  /** The content for an event id is usually the same, so that it is a repeat if it occurs again. */
  write(): StoreCall {
    const event = this.#below(25);
    const status = this.#chance(0.95) ? (STATUSES[event % STATUSES.length] ?? 0) : 5;
    const write = {
      jobId: this.#jobId,
      taskId: this.#taskId,
      tag: this.#tag,
      status,
      message: event % 2 === 0 ? '' : '🟢 ok',
      schemaVersion: 1,
      eventId: `e${event}`,
      ...(event % 5 === 0 && { payload: { status, list: [1, 'two', null] } }),
      ...(this.#chance(0.2) && { ifVersion: this.#below(4) }),
    };
    return { do: 'write', write, age: this.#age() };
  }

  read(): StoreCall {
    const [jobId, taskId, tag] = [this.#jobId, this.#taskId, this.#tag];
    const scope = { ...(this.#chance(0.4) && { taskId }), ...(this.#chance(0.4) && { tag }) };
    const limit = 1 + this.#below(5);
    const kind = this.#random.float();
    if (kind < 0.25)
      return { do: 'list', jobId, scope, page: { afterRevision: this.#below(12), limit } };
    if (kind < 0.45) return { do: 'get', jobId, taskId, tag };
    if (kind < 0.8) return { do: 'progress', jobId, scope };
    if (kind < 0.9) return { do: 'job', jobId };
    const worst = this.#pick(STATUS_CLASSES);
    return { do: 'jobs', query: { ...(this.#chance(0.5) && { worst }), limit } };
  }

  #age(): Age {
    const epochs = this.#chance(0.9) ? 0 : this.#pick([1, -1]);
    return { incarnations: this.#chance(0.95) ? 0 : 1, epochs };
  }

  #below(bound: number): number {
    return randomBelow(this.#random, bound);
  }

  #chance(probability: number): boolean {
    return this.#random.float() < probability;
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#below(list.length)] as T;
  }
}

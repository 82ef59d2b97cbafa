// Random calls in any order: a real store and the reference store receive the same calls, and every result and
// refusal must be the same. A failure names the seed of the run and the call, which reproduce it.
//
// J1   Versions of a key and revisions of a job increase by exactly one per applied change. Where revisions only
//      increase, they are compared by their order.
// J12  getState and getProgress equal the naive fold at their revision.
// J13  Only the newest claim of the current incarnation writes.
import assert from 'node:assert/strict';
import { type Random, SynclineError } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import type { JobStore } from '../../job-store.js';
import type { CaseContext, Cases } from '../job-store-subject.js';
import { createReferenceJobStore } from '../reference/reference-store.js';
import { type Age, drawCall, type StoreCall } from './random-call.js';

const STEPS = { simulated: 300, real: 50 } as const;

export const referenceCases: Cases = Object.fromEntries(
  ['first', 'second', 'third'].map((seed) => [
    `J1 J12 J13 gives the same results as the reference store, ${seed} run`,
    (context: CaseContext) => compare(context, `job-store-${seed}`),
  ]),
);

async function compare({ subject, capabilities, time }: CaseContext, seed: string): Promise<void> {
  const random: Random = createSeededRandom(seed);
  await using reference = createReferenceJobStore({ clock: subject.clock });
  const isCounting = capabilities.history === 'all';
  const sides = [new Side(subject.store, isCounting), new Side(reference, true)] as const;
  for (let step = 0; step < STEPS[time]; step += 1) {
    const call = drawCall(random);
    const [actual, expected] = [await sides[0].answer(call), await sides[1].answer(call)];
    assert.deepEqual(actual, expected, `seed ${seed}, call ${step}: ${JSON.stringify(call)}`);
  }
}

/** One of the two stores. Incarnations of a job are identified by their order, which is the same on both sides. */
class Side {
  readonly #store: JobStore;
  readonly #incarnations = new Map<string, string[]>();
  /** The newest epoch of a task, by incarnation and task. */
  readonly #epochs = new Map<string, number>();

  /** By job, in order, of its newest incarnation. */
  readonly #revisions = new Map<string, number[]>();
  readonly #isCounting: boolean;
  /** The result is a page, which may continue after the last revision. */
  #isPage = false;

  /** `isCounting`: revisions are 1, 2, 3 … */
  constructor(store: JobStore, isCounting: boolean) {
    this.#store = store;
    this.#isCounting = isCounting;
  }

  async answer(call: StoreCall): Promise<unknown> {
    this.#isPage = call.do === 'list';
    try {
      return this.#comparable(await this.#make(call), jobIdOf(call));
    } catch (thrown) {
      if (!(thrown instanceof SynclineError)) throw thrown;
      const { reason, field, limit } = thrown.details;
      return { code: thrown.code, reason, field, limit };
    }
  }

  #make(call: StoreCall): Promise<unknown> {
    const store = this.#store;
    switch (call.do) {
      case 'create':
        return store.createJob(call.spec);
      case 'update':
        return store.updateJob(call.jobId, call.patch);
      case 'mark':
        return store.markJobDeleted(call.jobId);
      case 'delete':
        this.#revisions.delete(call.jobId);
        return store.deleteJob(call.jobId);
      case 'lease':
        return this.#lease(call);
      case 'write':
        return store.setState(this.#of(call.write, call.age));
      case 'list':
        return store.listStates(call.jobId, call.scope, {
          ...call.page,
          afterRevision: this.#revision(call.jobId, call.page.afterRevision),
        });
      case 'get':
        return store.getState(call.jobId, call.taskId, call.tag);
      case 'progress':
        return store.aggregate(call.jobId, call.scope);
      case 'job':
        return store.getJob(call.jobId);
      case 'jobs':
        return store.listJobs(call.query);
    }
  }

  async #lease({ request, age }: Extract<StoreCall, { do: 'lease' }>): Promise<unknown> {
    const claimed = this.#of(request, age);
    const lease = await this.#store.lease(claimed);
    this.#epochs.set(`${claimed.incarnation} ${lease.taskId}`, lease.epoch);
    return lease;
  }

  /** As a caller that claimed its task that long ago. */
  #of<T extends { readonly jobId: string; readonly taskId: number }>(
    request: T,
    { incarnations, epochs }: Age,
  ): T & { readonly incarnation: string; readonly epoch: number } {
    const incarnation = this.#incarnations.get(request.jobId)?.at(-1 - incarnations) ?? 'none';
    const newest = this.#epochs.get(`${incarnation} ${request.taskId}`) ?? 0;
    return { ...request, incarnation, epoch: Math.max(0, newest - epochs) };
  }

  /** Without what differs by nature: times, and the names of incarnations. */
  #comparable(value: unknown, jobId: string): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#comparable(item, jobId));
    if (typeof value !== 'object' || value === null) return value;
    const owner = 'jobId' in value ? String(value.jobId) : jobId;
    const entries = Object.entries(value).map(([name, member]) => {
      if (name === 'incarnation') return [name, this.#order(owner, String(member))];
      if (name.endsWith('Ms') && name !== 'ttlMs') return [name, Number(member) > 0];
      if (name === 'revision') return [name, this.#place(owner, Number(member))];
      return [name, this.#comparable(member, owner)];
    });
    return Object.fromEntries(entries);
  }

  /** Which of the job's revisions it is. Every change returns its revision, so only the newest can be unknown. */
  #place(jobId: string, revision: number): number {
    if (this.#isCounting || revision === 0) return revision;
    const known = this.#revisions.get(jobId) ?? [];
    this.#revisions.set(jobId, known);
    const last = known.at(-1) ?? 0;
    if (revision <= last) return known.indexOf(revision) + 1;
    if (this.#isPage) return known.length + revision - last;
    return known.push(revision);
  }

  /** The revision at this place; beyond the last one, as much higher. */
  #revision(jobId: string, place: number): number {
    if (this.#isCounting || place === 0) return place;
    const known = this.#revisions.get(jobId) ?? [];
    return known[place - 1] ?? (known.at(-1) ?? 0) + place - known.length;
  }

  #order(jobId: string, incarnation: string): number {
    const known = this.#incarnations.get(jobId) ?? [];
    this.#incarnations.set(jobId, known);
    if (!known.includes(incarnation)) known.push(incarnation);
    return known.indexOf(incarnation);
  }
}

function jobIdOf(call: StoreCall): string {
  if ('jobId' in call) return call.jobId;
  return call.do === 'lease' ? call.request.jobId : '';
}

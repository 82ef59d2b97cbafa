// Any calls in any order: a real store and the plain one are led side by side, and every answer and refusal must
// be the same. A failure names the seed of the run and the call, which repeat it.
//
// J1   Versions of a key and revisions of a job rise by exactly one per applied change.
// J12  getState and getProgress equal the naive fold at their revision.
// J13  Only the newest claim of the current incarnation writes.
import assert from 'node:assert/strict';
import { type Random, SynclineError } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import type { JobStore } from '../../job-store.js';
import type { CaseContext, Cases } from '../job-store-subject.js';
import { createReferenceJobStore } from '../reference/reference-store.js';
import { type Age, drawCall, type StoreCall } from './random-call.js';

const STEPS = { simulated: 300, real: 80 } as const;

export const referenceCases: Cases = Object.fromEntries(
  ['first', 'second', 'third'].map((seed) => [
    `J1 J12 J13 answers what the reference store answers, ${seed} run`,
    (context: CaseContext) => compare(context, `job-store-${seed}`),
  ]),
);

async function compare({ subject, time }: CaseContext, seed: string): Promise<void> {
  const random: Random = createSeededRandom(seed);
  await using reference = createReferenceJobStore({ clock: subject.clock });
  const sides = [new Side(subject.store), new Side(reference)] as const;
  for (let step = 0; step < STEPS[time]; step += 1) {
    const call = drawCall(random);
    const [actual, expected] = [await sides[0].answer(call), await sides[1].answer(call)];
    assert.deepEqual(actual, expected, `seed ${seed}, call ${step}: ${JSON.stringify(call)}`);
  }
}

/** One of the two stores. Incarnations of a job are named by their order, which is the same on both sides. */
class Side {
  readonly #store: JobStore;
  readonly #incarnations = new Map<string, string[]>();
  /** The newest epoch of a task, by incarnation and task. */
  readonly #epochs = new Map<string, number>();

  constructor(store: JobStore) {
    this.#store = store;
  }

  async answer(call: StoreCall): Promise<unknown> {
    try {
      return this.#comparable(await this.#make(call), 'jobId' in call ? call.jobId : '');
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
        return store.deleteJob(call.jobId);
      case 'lease':
        return this.#lease(call);
      case 'write':
        return store.setState(this.#of(call.write, call.age));
      case 'list':
        return store.listStates(call.jobId, call.scope, call.page);
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

  /** As a caller that claimed its task so long ago. */
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
      return [name, this.#comparable(member, owner)];
    });
    return Object.fromEntries(entries);
  }

  #order(jobId: string, incarnation: string): number {
    const known = this.#incarnations.get(jobId) ?? [];
    this.#incarnations.set(jobId, known);
    if (!known.includes(incarnation)) known.push(incarnation);
    return known.indexOf(incarnation);
  }
}

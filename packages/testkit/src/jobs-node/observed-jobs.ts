// What clients were shown about jobs and leases, across all restarts of the store.
//
// J3   No epoch is assigned twice, an acknowledged claim is never undone, a deleted job does not come back.
// J13  After a claim of epoch e + 1 no write or renewal of epoch ≤ e is accepted, nor one of an earlier incarnation.
// J15  All creators of an incarnation see the same number of tasks, and exactly one of them created it.
import type { JobInfo, TaskLease } from '@syncline/jobs';
import { assert } from '@syncline/kernel';

interface ObservedJob {
  readonly jobId: string;
  readonly numTasks: number;
  /** The latest metadata seen. */
  metadataRevision: number;
  readonly epochs: Map<number, number>;
  isCreated: boolean;
  /** Its deletion was requested: it may be gone. */
  mayBeGone: boolean;
  isGone: boolean;
}

/** What was known when a call began. */
export interface Fence {
  readonly epoch: number;
  readonly incarnations: readonly string[];
}

export class ObservedJobs {
  /** By incarnation, in the order in which they were first seen. */
  readonly #jobs = new Map<string, ObservedJob>();
  readonly #claims = new Set<string>();
  /** Deletions in flight. */
  #deleting: string[] = [];

  observed(job: JobInfo): void {
    const { jobId, numTasks, incarnation } = job;
    const known = this.#jobs.get(incarnation);
    assert(
      known === undefined || known.numTasks === numTasks,
      `J15: job ${incarnation} has ${known?.numTasks} tasks for one client and ${numTasks} for another`,
    );
    if (known) return;
    const mayBeGone = this.#deleting.includes(jobId);
    const fresh = { metadataRevision: 0, isCreated: false, isGone: false };
    this.#jobs.set(incarnation, { jobId, numTasks, epochs: new Map(), mayBeGone, ...fresh });
  }

  /** The reply to a creator: the job exists. */
  answered(job: JobInfo): void {
    this.observed(job);
    const isGone = this.#jobs.get(job.incarnation)?.isGone;
    assert(isGone === false, `J3: job ${job.incarnation} was deleted and is shown`);
  }

  created(job: JobInfo): void {
    const known = this.#jobs.get(job.incarnation);
    assert(known?.isCreated === false, `J15: job ${job.incarnation} was created twice`);
    known.isCreated = true;
    this.metadata(job);
  }

  metadata(job: JobInfo): void {
    this.observed(job);
    const known = this.#jobs.get(job.incarnation);
    if (known) known.metadataRevision = Math.max(known.metadataRevision, job.revision);
  }

  claimed(incarnation: string, lease: TaskLease): void {
    const { taskId, epoch } = lease;
    const claim = `${incarnation}/${taskId}/${epoch}`;
    assert(!this.#claims.has(claim), `J3: epoch ${epoch} of task ${taskId} was assigned twice`);
    this.#claims.add(claim);
    this.lease(incarnation, lease);
  }

  lease(incarnation: string, { taskId, epoch }: TaskLease): void {
    const epochs = this.#jobs.get(incarnation)?.epochs;
    epochs?.set(taskId, Math.max(epoch, epochs.get(taskId) ?? 0));
  }

  fence(jobId: string, { incarnation, taskId }: { incarnation: string; taskId: number }): Fence {
    const incarnations = this.#known(jobId);
    return { incarnations, epoch: this.#jobs.get(incarnation)?.epochs.get(taskId) ?? 0 };
  }

  /** A write or a renewal was accepted that began with this fence, or a later one. */
  passed({ epoch, incarnations }: Fence, call: { incarnation: string; epoch: number }): void {
    assert(call.epoch >= epoch, `J13: epoch ${call.epoch} was accepted after ${epoch} was claimed`);
    const isOld = incarnations.indexOf(call.incarnation) < incarnations.length - 1;
    const isKnown = incarnations.includes(call.incarnation);
    assert(!isKnown || !isOld, `J13: job ${call.incarnation} accepted a write after its successor`);
  }

  /** Returns a function to call when the deletion has been answered. */
  deleting(jobId: string): (isDeleted: boolean) => void {
    const known = this.#known(jobId);
    for (const incarnation of known) {
      const job = this.#jobs.get(incarnation);
      if (job) job.mayBeGone = true;
    }
    this.#deleting.push(jobId);
    return (isDeleted) => {
      this.#deleting.splice(this.#deleting.indexOf(jobId), 1);
      for (const incarnation of isDeleted ? known : []) {
        const job = this.#jobs.get(incarnation);
        if (job) job.isGone = true;
      }
    };
  }

  /** What a new process has found. Returns the incarnations that are gone. */
  recover(
    found: readonly { readonly job: JobInfo; readonly leases: readonly TaskLease[] }[],
  ): readonly string[] {
    this.#deleting = [];
    const gone: string[] = [];
    const there = new Map(found.map((one) => [one.job.incarnation, one]));
    for (const [incarnation, known] of this.#jobs) {
      const one = there.get(incarnation);
      if (known.isGone || !one) {
        assert(known.mayBeGone, `J3: job ${incarnation} was shown and is gone`);
        known.isGone = true;
        gone.push(incarnation);
        assert(one === undefined, `J3: job ${incarnation} was deleted and is back`);
        continue;
      }
      this.#checkFound(incarnation, known, one);
    }
    for (const { job } of found) this.observed(job);
    return gone;
  }

  #checkFound(
    incarnation: string,
    known: ObservedJob,
    { job, leases }: { readonly job: JobInfo; readonly leases: readonly TaskLease[] },
  ): void {
    assert(
      job.revision >= known.metadataRevision,
      `J3: the metadata of job ${incarnation} went back to ${job.revision}`,
    );
    for (const [taskId, epoch] of known.epochs) {
      const left = leases.find((lease) => lease.taskId === taskId)?.epoch ?? 0;
      assert(
        left >= epoch,
        `J3: epoch ${epoch} of task ${taskId} was assigned, but ${left} is stored`,
      );
    }
  }

  #known(jobId: string): readonly string[] {
    const entries = [...this.#jobs].filter(([, job]) => job.jobId === jobId);
    return entries.map(([incarnation]) => incarnation);
  }
}

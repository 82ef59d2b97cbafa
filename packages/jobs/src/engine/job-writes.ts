// Writes: has the core decide each change, based on the rows as seen by the commit being formed, and stages the result.
//
// Everything but state writes is always synced: an epoch must not be issued twice. If a change is refused, an error is
// thrown and nothing is staged.
import { SynclineError } from '@syncline/kernel';
import type { CheckedWrite } from '../checks/checked-write.js';
import { decideCreate, decideMark, decideUpdate, type MeantJob } from '../core/decide-job.js';
import { decideLease } from '../core/decide-lease.js';
import { decideSetState } from '../core/decide-set-state.js';
import { checkIncarnationOf, hasCode } from '../core/refusals.js';
import { type Applied, type JobRow, leaseOf, type TaskRow } from '../core/rows.js';
import type { JobInfo, JobPatch, JobSpec, LeaseRequest, TaskLease } from '../job.js';
import { defaultState } from '../job.js';
import type { CreatedJob } from '../job-store.js';
import { countFenced } from '../metrics-list.js';
import { CellCounts } from './cell-counts.js';
import { encodeState } from './changes.js';
import type { DeletedJob, EncodedResult, StoreWrites } from './checked-job-store.js';
import type { CommitOptions, DecideCall, EngineParts } from './commits.js';
import type { Leases } from './leases.js';
import type { CommitBatch, StagedJob } from './staged-job.js';

export interface JobWritesDeps extends EngineParts {
  readonly leases: Leases;
}

type Signal = AbortSignal | undefined;

const INCARNATION_BYTES = 8;

export class JobWrites implements StoreWrites {
  readonly #deps: JobWritesDeps;

  constructor(deps: JobWritesDeps) {
    this.#deps = deps;
  }

  createJob(spec: Required<JobSpec>, signal: Signal): Promise<CreatedJob> {
    const { clock, random, jobs } = this.#deps;
    const decide = (batch: CommitBatch, staged: StagedJob | undefined): CreatedJob => {
      const decision = decideCreate(staged?.rows, spec, {
        incarnation: Buffer.from(random.bytes(INCARNATION_BYTES)).toString('hex'),
        jobsCount: batch.jobsCount,
        nowMs: clock.nowMs(),
      });
      if (decision.kind === 'unchanged') return { job: decision.info, created: false };
      const counts = new CellCounts(spec.numTasks);
      const head = { revision: 0, timestampMs: 0, compactedTo: 0, logRecords: 0, counts };
      const rows = { row: decision.job, head, tasks: [], cells: [], handle: undefined };
      batch.add(jobs.create(rows), true).stage(decision);
      batch.requireSynced();
      return { job: decision.info, created: true };
    };
    return this.#commit(spec.jobId, decide, { signal });
  }

  async updateJob(meant: MeantJob, patch: JobPatch, signal: Signal): Promise<JobInfo> {
    const decision = await this.#change(meant.jobId, signal, (staged, nowMs) =>
      decideUpdate(staged?.rows, { ...meant, patch }, nowMs),
    );
    return decision.info;
  }

  async markJobDeleted(meant: MeantJob, signal: Signal): Promise<JobInfo> {
    const decision = await this.#change(meant.jobId, signal, (staged, nowMs) =>
      decideMark(staged?.rows, meant, nowMs),
    );
    return decision.info;
  }

  async deleteJob({ jobId, incarnation, ifRevision }: DeletedJob, signal: Signal) {
    const decide = (batch: CommitBatch, staged: StagedJob | undefined): boolean => {
      if (!staged) return false;
      checkIncarnationOf(staged.row, incarnation);
      const { revision } = staged.head;
      if (ifRevision !== undefined && ifRevision !== revision)
        throw movedOn(jobId, revision, ifRevision);
      staged.isDeleted = true;
      batch.requireSynced();
      return true;
    };
    try {
      return await this.#commit(jobId, decide, { signal });
    } catch (thrown) {
      const { adapter, commits, leases } = this.#deps;
      if (!hasCode(thrown, 'corrupt') || !adapter.deleteDamaged) throw thrown;
      const deleted = await adapter.deleteDamaged(jobId, incarnation);
      if (deleted) commits.noteDeleted(jobId);
      if (deleted?.incarnation !== undefined) leases.watch.forgetJob(deleted.incarnation);
      return deleted !== undefined;
    }
  }

  async lease(request: LeaseRequest, signal: Signal): Promise<TaskLease> {
    const { jobId, incarnation, taskId } = request;
    const renewed = request.action === 'renew' ? await this.#renew(request) : undefined;
    const decided =
      renewed ??
      (await this.#change(jobId, signal, (staged, nowMs) => {
        const rows = staged && { ...staged.rows, task: staged.taskOf(taskId) };
        return decideLease(rows, request, nowMs);
      }));
    const { lease } = decided;
    if (lease.state === 'held') this.#deps.leases.watch.extend(incarnation, taskId);
    return lease;
  }

  setState(write: CheckedWrite, signal: Signal): Promise<EncodedResult> {
    const { jobId, taskId, tag } = write;
    const decide = (batch: CommitBatch, staged: StagedJob | undefined): EncodedResult => {
      const cell = staged?.cellOf(taskId, tag);
      const rows = staged && { ...staged.rows, task: staged.taskOf(taskId), cell };
      const decision = decideSetState(rows, write, this.#deps.clock.nowMs());
      switch (decision.kind) {
        case 'duplicate':
          return { applied: true, duplicate: true, state: encodeState(decision.state) };
        case 'version': {
          const current = cell && staged?.stateOf(taskId, tag);
          const state = current ?? encodeState(defaultState(jobId, taskId, tag));
          return { applied: false, duplicate: false, state };
        }
        case 'apply': {
          if (write.durability !== 'buffered' || decision.task) batch.requireSynced();
          staged?.stage(decision, { taskId, tag, row: decision.cell });
          const state = staged?.changes.at(-1)?.bytes ?? encodeState(decision.state);
          return { applied: true, duplicate: false, state };
        }
      }
    };
    const cell = { taskId, tag, withState: write.ifVersion !== undefined };
    return this.#commit(jobId, decide, { bytes: write.bytes, cell, signal });
  }

  #change<Decision extends (Applied & Rows) | Readonly<{ kind: 'unchanged' }>>(
    jobId: string,
    signal: Signal,
    decide: (staged: StagedJob | undefined, nowMs: number) => Decision,
  ): Promise<Decision> {
    const decideNow = (batch: CommitBatch, staged: StagedJob | undefined): Decision => {
      const decision = decide(staged, this.#deps.clock.nowMs());
      if (decision.kind === 'apply') {
        staged?.stage(decision);
        batch.requireSynced();
      }
      return decision;
    };
    return this.#commit(jobId, decideNow, { signal });
  }

  #commit<T>(jobId: string, decide: DecideCall<T>, options: CommitOptions): Promise<T> {
    return countFenced(this.#deps.metrics, this.#deps.commits.run(jobId, decide, options));
  }

  /** Renewing a held lease takes no revision. Undefined if it would change something, or memory cannot tell. */
  async #renew({ jobId, incarnation, taskId, epoch }: LeaseRequest) {
    const { adapter, jobs, leases, clock } = this.#deps;
    if (leases.isBeingLost(incarnation, taskId)) return undefined;
    const job = jobs.touch(jobId);
    if (job?.row.incarnation !== incarnation) return undefined;
    job.checkTask(taskId);
    const task = job.tasks.get(taskId);
    if (task?.state !== 'held' || task.epoch !== epoch) return undefined;
    // Memory may be outdated: only the database knows whether the lease is still held.
    const isHeld = !adapter.shared || (await adapter.shared.renew(job, taskId, epoch));
    return isHeld ? { lease: leaseOf(task, clock.nowMs()) } : undefined;
  }
}

type Rows = { readonly job?: JobRow; readonly task?: TaskRow | undefined };

export function movedOn(jobId: string, revision: number, wanted: number): SynclineError {
  return new SynclineError(
    'conflict',
    `job "${jobId}" is at revision ${revision}, not ${wanted}: it has changed in the meantime`,
    { details: { reason: 'revision', revision } },
  );
}

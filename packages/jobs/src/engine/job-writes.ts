// Writes: asks the core about each change with the rows as the commit being formed sees them, and stages the answer.
//
// All but states are always synced: an epoch must not be given twice. A decision throws why it refuses, and has staged
// nothing then.
import { type Clock, type Random, SynclineError } from '@syncline/kernel';
import type { CheckedWrite } from '../checks/checked-write.js';
import { decideCreate, decideMark, decideUpdate, type MeantJob } from '../core/decide-job.js';
import { decideLease } from '../core/decide-lease.js';
import { decideSetState } from '../core/decide-set-state.js';
import { otherJobRefusal } from '../core/refusals.js';
import type { JobInfo, JobPatch, JobSpec, LeaseRequest, TaskLease } from '../job.js';
import type { JobsMetrics } from '../metrics-list.js';
import { defaultState } from '../state.js';
import { CellCounts } from './cell-counts.js';
import type { CommitBatch } from './commit-batch.js';
import type { CommitOptions, Commits } from './commits.js';
import type { JobCache } from './job-cache.js';
import { JobMirror, type StagedJob } from './job-mirror.js';
import type { Leases } from './leases.js';
import type { RetentionOptions } from './retention-marks.js';
import type { StoreAdapter } from './store-adapter.js';
import { encodeState } from './stored-change.js';

export interface JobWritesDeps {
  readonly adapter: StoreAdapter;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: JobsMetrics;
  readonly jobs: JobCache;
  readonly commits: Commits;
  readonly leases: Leases;
}

export type EncodedResult = Readonly<{
  applied: boolean;
  duplicate: boolean;
  /** A State message: what was written, or what is there if `applied` is false. */
  state: Uint8Array;
}>;

type Signal = AbortSignal | undefined;

const INCARNATION_BYTES = 8;

export class JobWrites {
  readonly #deps: JobWritesDeps;
  readonly #retention: RetentionOptions;

  constructor(deps: JobWritesDeps, retention: RetentionOptions) {
    this.#deps = deps;
    this.#retention = retention;
  }

  async createJob(spec: Required<JobSpec>, signal: Signal) {
    const { clock, random } = this.#deps;
    return this.#commit(
      spec.jobId,
      (batch, staged): { readonly job: JobInfo; readonly created: boolean } => {
        const decision = decideCreate(staged && { job: staged.row, head: staged.head }, spec, {
          incarnation: Buffer.from(random.bytes(INCARNATION_BYTES)).toString('hex'),
          jobsCount: batch.jobsCount,
          nowMs: clock.nowMs(),
        });
        if (decision.kind === 'refused') throw decision.error;
        if (decision.kind === 'unchanged') return { job: decision.info, created: false };
        const counts = new CellCounts(spec.numTasks);
        const head = { revision: 0, timestampMs: 0, compactedTo: 0, logRecords: 0, counts };
        const rows = { row: decision.job, head, tasks: [], cells: [], handle: undefined };
        batch.add(new JobMirror(rows, this.#retention), 'create').stage(decision);
        batch.requireSynced();
        return { job: decision.info, created: true };
      },
      { signal },
    );
  }

  updateJob(meant: MeantJob, patch: JobPatch, signal: Signal): Promise<JobInfo> {
    return this.#commit(
      meant.jobId,
      (batch, staged) => {
        const rows = staged && { job: staged.row, head: staged.head, tags: staged };
        const decision = decideUpdate(rows, { ...meant, patch }, this.#deps.clock.nowMs());
        if (decision.kind === 'refused') throw decision.error;
        staged?.stage(decision);
        batch.requireSynced();
        return decision.info;
      },
      { signal },
    );
  }

  markJobDeleted(meant: MeantJob, signal: Signal): Promise<JobInfo> {
    return this.#commit(
      meant.jobId,
      (batch, staged) => {
        const rows = staged && { job: staged.row, head: staged.head };
        const decision = decideMark(rows, meant, this.#deps.clock.nowMs());
        if (decision.kind === 'refused') throw decision.error;
        if (decision.kind === 'unchanged') return decision.info;
        staged?.stage(decision);
        batch.requireSynced();
        return decision.info;
      },
      { signal },
    );
  }

  /** Undefined: there was none. Otherwise the last revision that it had, 0 if that cannot be read. */
  async deleteJob(
    { jobId, incarnation, ifRevision }: MeantJob & { readonly ifRevision?: number | undefined },
    signal: Signal,
  ): Promise<number | undefined> {
    try {
      return await this.#commit(
        jobId,
        (batch, staged) => {
          if (!staged) return undefined;
          const refusal = otherJobRefusal(staged.row, incarnation);
          if (refusal) throw refusal;
          const { revision } = staged.head;
          if (ifRevision !== undefined && ifRevision !== revision)
            throw movedOn(jobId, revision, ifRevision);
          staged.isDeleted = true;
          batch.requireSynced();
          return revision;
        },
        { signal },
      );
    } catch (thrown) {
      const { deleteDamaged } = this.#deps.adapter;
      const isCorrupt = thrown instanceof SynclineError && thrown.code === 'corrupt';
      if (!isCorrupt || !deleteDamaged) throw thrown;
      const deleted = await deleteDamaged.call(this.#deps.adapter, jobId, incarnation);
      if (deleted) this.#deps.commits.noteDeleted();
      if (deleted?.incarnation !== undefined) this.#deps.leases.forgetJob(deleted.incarnation);
      return deleted ? 0 : undefined;
    }
  }

  async lease(request: LeaseRequest, signal: Signal): Promise<TaskLease> {
    const { jobId, incarnation, taskId } = request;
    const renewed = request.action === 'renew' ? await this.#renew(request) : undefined;
    const lease =
      renewed ??
      (await this.#commit(
        jobId,
        (batch, staged) => {
          const rows = staged && {
            job: staged.row,
            head: staged.head,
            task: staged.taskOf(taskId),
          };
          const decision = decideLease(rows, request, this.#deps.clock.nowMs());
          if (decision.kind === 'refused') throw decision.error;
          if (decision.kind === 'unchanged') return decision.lease;
          staged?.stage(decision);
          batch.requireSynced();
          return decision.lease;
        },
        { signal },
      ));
    if (lease.state === 'held') this.#deps.leases.extend(incarnation, taskId);
    return lease;
  }

  setState(write: CheckedWrite, signal: Signal): Promise<EncodedResult> {
    const { jobId, taskId, tag } = write;
    const decide = (batch: CommitBatch, staged: StagedJob | undefined): EncodedResult => {
      const cell = staged && this.#cellOf(batch, staged, taskId, tag);
      const rows = staged && {
        job: staged.row,
        head: staged.head,
        task: staged.taskOf(taskId),
        cell,
        tags: staged,
      };
      const decision = decideSetState(rows, write, this.#deps.clock.nowMs());
      switch (decision.kind) {
        case 'refused':
          throw decision.error;
        case 'duplicate':
          return { applied: true, duplicate: true, state: encodeState(decision.state) };
        case 'version': {
          const state = staged && cell && currentState(batch, staged, { taskId, tag });
          const current = state ?? encodeState(defaultState(jobId, taskId, tag));
          return { applied: false, duplicate: false, state: current };
        }
        case 'apply': {
          const isBuffered = write.durability === 'buffered';
          if (!isBuffered || decision.task) batch.requireSynced();
          staged?.stage(decision, { taskId, tag, row: decision.cell, isBuffered });
          const state = staged?.changes.at(-1)?.bytes ?? encodeState(decision.state);
          return { applied: true, duplicate: false, state };
        }
      }
    };
    return this.#commit(jobId, decide, { bytes: write.bytes, cell: { taskId, tag }, signal });
  }

  async #commit<T>(
    jobId: string,
    decide: (batch: CommitBatch, staged: StagedJob | undefined) => T,
    options: CommitOptions,
  ): Promise<T> {
    try {
      return await this.#deps.commits.run(jobId, decide, options);
    } catch (thrown) {
      if (thrown instanceof SynclineError && thrown.code === 'fenced')
        this.#deps.metrics.add('syncline_jobs_fenced_total');
      throw thrown;
    }
  }

  /** A renewal of what is held takes no revision. Undefined: it changes something, or the job is not in memory. */
  async #renew(request: LeaseRequest): Promise<TaskLease | undefined> {
    const { jobId, incarnation, taskId } = request;
    const { shared } = this.#deps.adapter;
    if (this.#deps.leases.isBeingLost(incarnation, taskId)) return undefined;
    const job = this.#deps.jobs.touch(jobId);
    if (!job) return undefined;
    if (shared) this.#deps.commits.follow(job, await shared.changesAfter(job));
    if (job.isDeleted) return undefined;
    job.damage.checkTask(taskId);
    const rows = { job: job.row, head: headRowOf(job), task: job.tasks.get(taskId) };
    const decision = decideLease(rows, request, this.#deps.clock.nowMs());
    if (decision.kind !== 'unchanged') return undefined;
    if (decision.lease.state === 'held') await shared?.renewed(job, taskId);
    return decision.lease;
  }

  #cellOf(batch: CommitBatch, staged: StagedJob, taskId: number, tag: string) {
    staged.job.damage.checkScope({ taskId, tag });
    const found = staged.stagedCell(taskId, tag);
    if (found || staged.job.cells.revisionOf(taskId, tag) === 0) return found;
    return batch.rows.cell(staged.job, taskId, tag);
  }
}

function headRowOf({ head: { revision, timestampMs, counts } }: JobMirror) {
  return { revision, timestampMs, statesCount: counts.total };
}

/** The State message of a written cell, as the commit sees it. */
function currentState(
  batch: CommitBatch,
  staged: StagedJob,
  { taskId, tag }: { readonly taskId: number; readonly tag: string },
): Uint8Array {
  const isSame = (change: { kind: string; taskId: number; tag: string }) =>
    change.kind === 'state' && change.taskId === taskId && change.tag === tag;
  return staged.changes.findLast(isSame)?.bytes ?? batch.rows.state(staged.job, taskId, tag);
}

function movedOn(jobId: string, revision: number, wanted: number): SynclineError {
  return new SynclineError(
    'conflict',
    `job "${jobId}" is at revision ${revision}, not ${wanted}: it was changed meanwhile`,
    { details: { reason: 'revision', revision } },
  );
}

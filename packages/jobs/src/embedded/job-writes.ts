// Asks the core about each change, with the rows as the batch being formed sees them, and stages its answer.
//
// Each method throws why it refuses, and has staged nothing then. All but states are always synced: an epoch
// must not be given twice, and a tag's number not either, so the first write of a tag is synced too.
import type { Clock, Storage } from '@syncline/kernel';
import { decideCreate, decideMark, decideUpdate, type MeantJob } from '../core/decide-job.js';
import { decideLease, decideLost, type LeaseApplied } from '../core/decide-lease.js';
import { decideSetState } from '../core/decide-set-state.js';
import { otherJobRefusal } from '../core/refusals.js';
import type { JobInfo, JobPatch, JobSpec, LeaseRequest, TaskLease } from '../job.js';
import type { SetStateResult, StateWrite } from '../job-store.js';
import type { WatchedLease } from '../leases/lease-watch.js';
import { defaultState, type State } from '../state.js';
import { newHead } from './head.js';
import type { JobCache } from './job-cache.js';
import { JobNotLoaded } from './job-not-loaded.js';
import { cellKey, jobKey } from './keys.js';
import { LoadedJob } from './loaded-job.js';
import { readLogState } from './read-log-state.js';
import { isCorrupt } from './read-rows.js';
import type { RetentionOptions } from './retention-marks.js';
import { decodeCell, decodeJobRow, type StoredCell, type StoredJobRow } from './row-codec.js';
import { corruptRow } from './row-reader.js';
import type { StagedBatch } from './staged-batch.js';
import { StagedJob } from './staged-job.js';
import type { StoreLedger } from './store-ledger.js';

export interface JobWritesDeps {
  readonly storage: Pick<Storage, 'get'>;
  readonly clock: Clock;
  readonly jobs: JobCache;
  readonly ledger: StoreLedger;
}

export class JobWrites {
  readonly #deps: JobWritesDeps;
  readonly #retention: RetentionOptions;

  constructor(deps: JobWritesDeps, retention: RetentionOptions) {
    this.#deps = deps;
    this.#retention = retention;
  }

  create(
    batch: StagedBatch,
    spec: Required<JobSpec>,
  ): { readonly job: JobInfo; readonly created: boolean } {
    const { clock, ledger } = this.#deps;
    const staged = this.#stage(batch, spec.jobId);
    const jobNo = ledger.nextJobNo(batch);
    const decision = decideCreate(rowsOf(staged), spec, {
      incarnation: ledger.incarnationOf(jobNo),
      jobsCount: ledger.jobsCountIn(batch),
      nowMs: clock.nowMs(),
    });
    if (decision.kind === 'refused') throw decision.error;
    if (decision.kind === 'unchanged') return { job: decision.info, created: false };
    ledger.takeJobNo(batch);
    const head = newHead(spec.numTasks);
    const job = new LoadedJob({ jobNo, row: decision.job, head }, this.#retention);
    batch.add(spec.jobId, new StagedJob(job, true)).stageRow(decision);
    batch.requireSynced();
    return { job: decision.info, created: true };
  }

  update(batch: StagedBatch, meant: MeantJob, patch: JobPatch): JobInfo {
    const staged = this.#stage(batch, meant.jobId);
    const rows = staged && { job: staged.row, head: staged.head, tags: staged };
    const decision = decideUpdate(rows, { ...meant, patch }, this.#deps.clock.nowMs());
    if (decision.kind === 'refused') throw decision.error;
    staged?.stageRow(decision);
    batch.requireSynced();
    return decision.info;
  }

  mark(batch: StagedBatch, meant: MeantJob): JobInfo {
    const staged = this.#stage(batch, meant.jobId);
    const decision = decideMark(rowsOf(staged), meant, this.#deps.clock.nowMs());
    if (decision.kind === 'refused') throw decision.error;
    if (decision.kind === 'unchanged') return decision.info;
    staged?.stageRow(decision);
    batch.requireSynced();
    return decision.info;
  }

  /** False: there was none. */
  remove(batch: StagedBatch, { jobId, incarnation }: MeantJob): boolean {
    const staged = this.#stage(batch, jobId);
    if (!staged) return false;
    const refusal = otherJobRefusal(staged.row, incarnation);
    if (refusal) throw refusal;
    staged.isDeleted = true;
    batch.requireSynced();
    return true;
  }

  /** A job that cannot be loaded goes as well: nobody could use it or its name again. False: there was none. */
  removeDamaged(batch: StagedBatch, meant: MeantJob): boolean {
    const { jobId, incarnation } = meant;
    if (batch.damagedJobs.some((damaged) => damaged.jobId === jobId)) return false;
    if (this.#deps.jobs.peek(jobId) || batch.find(jobId)) return this.remove(batch, meant);
    let stored: StoredJobRow | undefined;
    try {
      const key = jobKey(jobId);
      const bytes = this.#deps.storage.get(key);
      if (!bytes) return false;
      stored = decodeJobRow(key, bytes, jobId);
    } catch (thrown) {
      // Who means one incarnation must not delete another, and nobody can tell.
      if (!isCorrupt(thrown) || incarnation !== undefined) throw thrown;
    }
    const refusal = stored && otherJobRefusal(stored.row, incarnation);
    if (refusal) throw refusal;
    batch.damagedJobs.push({ jobId, stored });
    batch.requireSynced();
    return true;
  }

  lease(batch: StagedBatch, request: LeaseRequest): TaskLease {
    const staged = this.#stage(batch, request.jobId);
    const task = staged?.taskOf(request.taskId);
    const rows = staged && { job: staged.row, head: staged.head, task };
    const decision = decideLease(rows, request, this.#deps.clock.nowMs());
    if (decision.kind === 'refused') throw decision.error;
    if (decision.kind === 'unchanged') return decision.lease;
    staged?.stageLease(decision);
    batch.requireSynced();
    return decision.lease;
  }

  /** Undefined: it is no longer overdue, or nothing of the task is left to do. */
  lose(batch: StagedBatch, lease: WatchedLease): LeaseApplied | undefined {
    const { jobId, incarnation, taskId, epoch } = lease;
    const staged = this.#stage(batch, jobId);
    if (staged?.row.incarnation !== incarnation || staged.writers.has(taskId)) return undefined;
    if (!staged.job.aggregates.hasUnfinished(taskId)) return undefined;
    const rows = { job: staged.row, head: staged.head, task: staged.taskOf(taskId) };
    const decision = decideLost(rows, epoch, this.#deps.clock.nowMs());
    if (!decision) return undefined;
    staged.stageLease(decision);
    batch.requireSynced();
    return decision;
  }

  setState(batch: StagedBatch, write: StateWrite): SetStateResult {
    const { jobId, taskId, tag } = write;
    const staged = this.#stage(batch, jobId);
    const cell = staged && this.#cellOf(staged, taskId, tag)?.row;
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
        return { applied: true, duplicate: true, state: decision.state };
      case 'version': {
        const current = staged && cell && this.#currentState(staged, cell.revision);
        const state = current ?? defaultState(jobId, taskId, tag);
        return { applied: false, reason: 'version', current: state };
      }
      case 'apply': {
        const isBuffered = write.durability === 'buffered';
        if (!isBuffered || !staged?.has(tag) || decision.task) batch.requireSynced();
        if (isBuffered) this.#deps.ledger.markBuffered(batch);
        if (decision.task) staged?.stageTask(decision.task);
        staged?.stageState(decision, isBuffered, cell);
        return { applied: true, duplicate: false, state: decision.state };
      }
    }
  }

  /** Of a cell: the staged row, or the stored one. */
  #cellOf(staged: StagedJob, taskId: number, tag: string): StoredCell | undefined {
    const { job } = staged;
    const tagNo = staged.tagNoOf(tag);
    job.damage.checkScope({ taskId, tag });
    if (tagNo === undefined) return undefined;
    const found = staged.stagedCell(tagNo, taskId);
    if (found || job.places.get(tagNo, taskId) === 0) return found;
    const key = cellKey(job.jobNo, tagNo, taskId);
    const bytes = this.#deps.storage.get(key);
    if (!bytes) throw corruptRow(key);
    return decodeCell(key, bytes);
  }

  #currentState(staged: StagedJob, revision: number): State {
    const change = staged.changes.find((each) => each.revision === revision);
    if (change?.kind === 'state') return change.state;
    return readLogState(this.#deps.storage, staged.job, revision);
  }

  /** Undefined: there is no such job. */
  #stage(batch: StagedBatch, jobId: string): StagedJob | undefined {
    const staged = batch.find(jobId);
    if (staged) return staged.isDeleted ? undefined : staged;
    const job = this.#deps.jobs.peek(jobId);
    if (job) return batch.add(jobId, new StagedJob(job));
    if (this.#deps.storage.get(jobKey(jobId)) === undefined) return undefined;
    throw new JobNotLoaded();
  }
}

function rowsOf(staged: StagedJob | undefined) {
  return staged && { job: staged.row, head: staged.head };
}

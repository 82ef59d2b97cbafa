// Writes: has the core decide each change, based on the rows as seen by the commit being formed, and stages the result.
import { SynclineError } from '@syncline/kernel';
import * as core from '../core/decisions.js';
import { checkIncarnationOf, hasCode } from '../core/refusals.js';
import { leaseOf } from '../core/rows.js';
import { defaultState, type LeaseRequest } from '../job.js';
import type { CreatedJob } from '../job-store.js';
import { countFenced } from '../metrics-list.js';
import { CellCounts } from './cell-counts.js';
import { encodeState } from './changes.js';
import type { EncodedResult, StoreWrites } from './checked-job-store.js';
import type { CommitOptions, DecideCall, EngineParts } from './commits.js';
import type { Leases } from './leases.js';
import type { AppliedRows, StagedJob } from './staged-job.js';

const INCARNATION_BYTES = 8;

export function jobWrites(parts: EngineParts, leases: Leases): StoreWrites {
  const { adapter, clock, commits, jobs, metrics, random } = parts;

  const commit = <T>(jobId: string, decide: DecideCall<T>, options: CommitOptions): Promise<T> =>
    countFenced(metrics, commits.run(jobId, decide, options));

  const change = <D extends AppliedRows | Readonly<{ kind: 'unchanged' }>>(
    jobId: string,
    signal: AbortSignal | undefined,
    decide: (staged: StagedJob | undefined, nowMs: number) => D,
  ): Promise<D> => {
    const decideNow: DecideCall<D> = (staged) => {
      const decision = decide(staged, clock.nowMs());
      if (decision.kind === 'apply') staged?.stage(decision);
      return decision;
    };
    return commit(jobId, decideNow, { signal });
  };

  /** Renewing a held lease takes no revision. Undefined if it would change something, or memory cannot tell. */
  const renew = async ({ jobId, incarnation, taskId, epoch }: LeaseRequest) => {
    if (leases.isBeingLost(incarnation, taskId)) return undefined;
    const job = jobs.touch(jobId);
    if (job?.row.incarnation !== incarnation) return undefined;
    job.check('lease', { taskId });
    const task = job.tasks.get(taskId);
    if (task?.state !== 'held' || task.epoch !== epoch) return undefined;
    // Memory may be outdated: only the database knows whether the lease is still held.
    const isHeld = !adapter.shared || (await adapter.shared.renew(job, taskId, epoch));
    return isHeld ? { lease: leaseOf(task, clock.nowMs()) } : undefined;
  };

  return {
    createJob(spec, signal) {
      const decide: DecideCall<CreatedJob> = (staged, batch) => {
        const decision = core.decideCreate(staged?.rows, spec, {
          incarnation: Buffer.from(random.bytes(INCARNATION_BYTES)).toString('hex'),
          jobsCount: batch.jobsCount,
          nowMs: clock.nowMs(),
        });
        if (decision.kind === 'unchanged') return { job: decision.info, created: false };
        const counts = new CellCounts(spec.numTasks);
        const head = { revision: 0, timestampMs: 0, compactedTo: 0, logRecords: 0, counts };
        const rows = { row: decision.job, head, tasks: [], cells: [], handle: undefined };
        batch.add(jobs.create(rows), true).stage(decision);
        return { job: decision.info, created: true };
      };
      return commit(spec.jobId, decide, { signal });
    },

    async updateJob(meant, patch, signal) {
      const { info } = await change(meant.jobId, signal, (staged, nowMs) =>
        core.decideUpdate(staged?.rows, { ...meant, patch }, nowMs),
      );
      return info;
    },

    async markJobDeleted(meant, signal) {
      const { info } = await change(meant.jobId, signal, (staged, nowMs) =>
        core.decideMark(staged?.rows, meant, nowMs),
      );
      return info;
    },

    async deleteJob({ jobId, incarnation, ifRevision }, signal) {
      const decide: DecideCall<boolean> = (staged) => {
        if (!staged) return false;
        checkIncarnationOf(staged.row, incarnation);
        const { revision } = staged.head;
        if (ifRevision !== undefined && ifRevision !== revision)
          throw revisionMismatch(jobId, revision, ifRevision);
        staged.isDeleted = true;
        return true;
      };
      try {
        return await commit(jobId, decide, { signal });
      } catch (thrown) {
        if (!hasCode(thrown, 'corrupt') || !adapter.deleteDamaged) throw thrown;
        const deleted = await commits.whenInSync(() => adapter.deleteDamaged?.(jobId, incarnation));
        if (deleted) commits.noteDeleted(jobId);
        if (deleted?.incarnation !== undefined) leases.watch.forget(deleted.incarnation);
        return deleted !== undefined;
      }
    },

    async lease(request, signal) {
      const { jobId, incarnation, taskId } = request;
      const decide = (staged: StagedJob | undefined, nowMs: number) =>
        core.decideLease(staged?.rowsWith(taskId), request, nowMs);
      const renewed = request.action === 'renew' ? await renew(request) : undefined;
      const { lease } = renewed ?? (await change(jobId, signal, decide));
      if (lease.state === 'held') leases.watch.extend(incarnation, taskId);
      return lease;
    },

    setState(write, signal) {
      const { jobId, taskId, tag } = write;
      const isSynced = write.durability !== 'buffered';
      const decide: DecideCall<EncodedResult> = (staged, batch) => {
        const cell = staged?.cellOf(taskId, tag);
        const decision = core.decideSetState(staged?.rowsWith(taskId, cell), write, clock.nowMs());
        switch (decision.kind) {
          case 'duplicate':
            batch.securesEarlier ||= isSynced; // the original may only be buffered
            return { applied: true, duplicate: true, state: encodeState(decision.state) };
          case 'version': {
            const current = cell && staged?.stateOf(taskId, tag);
            const state = current ?? encodeState(defaultState(jobId, taskId, tag));
            return { applied: false, duplicate: false, state };
          }
          case 'apply': {
            staged?.stage(decision);
            if (staged && isSynced) staged.hasSyncedState = true;
            const state = staged?.changes.at(-1)?.bytes ?? encodeState(decision.state);
            return { applied: true, duplicate: false, state };
          }
        }
      };
      const cell = { taskId, tag, withState: write.ifVersion !== undefined };
      return commit(jobId, decide, { bytes: write.bytes, cell, signal });
    },
  };
}

export function revisionMismatch(jobId: string, revision: number, wanted: number): SynclineError {
  const message = `job "${jobId}" is at revision ${revision}, not ${wanted}: it has changed in the meantime`;
  return new SynclineError('conflict', message, { details: { reason: 'revision', revision } });
}

// All writes to Firestore. Each is one transaction that reads the documents it depends on, has the core decide, and
// stores the result.
//
// No document is written by every write: a state write only reads the documents of its job and task, so there is no
// contention between tasks or between the tags of a task.
//
// J1   A transaction commits only if nothing that it read has changed, so versions of a key rise by one.
// J13  The epoch is in the document of the task, which every write of the task reads.
// J15  If a job is created concurrently, one transaction commits; the others conflict, retry and find the created job.
import { Buffer } from 'node:buffer';
import type { Firestore, Query, Transaction } from '@google-cloud/firestore';
import type { Random } from '@syncline/kernel';
import type { CheckedWrite } from '../checks/checked-write.js';
import { decideCreate, decideMark, decideUpdate, type MeantJob } from '../core/decide-job.js';
import { decideLease, decideLost } from '../core/decide-lease.js';
import { decideSetState } from '../core/decide-set-state.js';
import { checkIncarnationOf, tagsCount } from '../core/refusals.js';
import { type JobRow, jobInfoOf, leaseOf, type TaskRow } from '../core/rows.js';
import { encodeState } from '../engine/changes.js';
import type { DeletedJob, EncodedResult, StoreWrites } from '../engine/checked-job-store.js';
import { movedOn } from '../engine/job-writes.js';
import type { LeaseRef } from '../engine/store-adapter.js';
import { WriteQuota } from '../engine/write-quota.js';
import type { JobInfo, JobPatch, JobSpec, LeaseRequest, TaskLease } from '../job.js';
import { defaultState } from '../job.js';
import type { CreatedJob } from '../job-store.js';
import { jobsLimits } from '../limits.js';
import { countFenced, type JobsMetrics } from '../metrics-list.js';
import type { FirestoreCalls } from './firestore-calls.js';
import {
  type Found,
  type JobDocuments,
  jobDocuments,
  type Kept,
  type Key,
  latestCommit,
  leaseEndMs,
  microsOf,
  millisOf,
  readJob,
  readRows,
  readTags,
  readWritten,
  storeRow,
} from './job-documents.js';

export interface FirestoreWritesDeps {
  readonly firestore: Firestore;
  readonly calls: FirestoreCalls;
  readonly random: Random;
  readonly metrics: JobsMetrics;
  /** Includes the latest revision of the job. */
  readonly infoOf: (row: JobRow, signal: Signal) => Promise<JobInfo>;
  /** This store has changed the job: from now on, its reads must include this revision. */
  readonly onCommitted: (jobId: string, revision: number) => void;
  readonly onDeleted: (job: Pick<JobRow, 'jobId' | 'incarnation'>) => void;
}

type Signal = AbortSignal | undefined;

type Moment = Readonly<{ revision: number; timestampMs: number }>;

type Decided<T> =
  /** Must be done first; then the write is decided again. */
  | { readonly first: () => Promise<unknown> }
  | {
      /** Undefined if nothing changes. */
      readonly kept?: Kept;
      /** Called after the commit, with its time if a row was stored. */
      readonly answer: (moment: Moment) => T | Promise<T>;
    };

interface ChangeOptions {
  readonly signal?: Signal;
  /** Identifies the write when it is read back after the commit. */
  readonly eventId?: string;
  readonly digest?: string;
}

/** A placeholder for the core, which computes revisions. Here they are known only after the commit. */
const HEAD = { revision: 0, timestampMs: 0, statesCount: 0 };
/** For a key that was written before: its tag does not count as new. */
const ANY_TAG = { size: 0, has: () => true };
const ID_BYTES = 8;

export class FirestoreWrites implements StoreWrites {
  readonly #deps: FirestoreWritesDeps;
  readonly #quota: WriteQuota;
  /** The written tags of each incarnation that this process knows of. */
  readonly #tags = new Map<string, ReadonlySet<string>>();
  /** Tags waiting to be added. */
  readonly #newTags = new Map<string, Set<string>>();
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(deps: FirestoreWritesDeps) {
    this.#deps = deps;
    this.#quota = new WriteQuota(deps.metrics);
  }

  createJob(spec: Required<JobSpec>, signal: Signal): Promise<CreatedJob> {
    const incarnation = this.#newId();
    const jobs = this.#deps.firestore.collection('jobs');
    return this.#change(spec, { eventId: incarnation, signal }, async ({ record, job, nowMs }) => {
      // A process stopped while deleting it.
      if (record?.isDeleting) return { first: () => this.#removeAll(record.row) };
      const jobsCount = job ? 0 : (await jobs.count().get()).data().count;
      const rows = job && { job, head: HEAD };
      const kept = decideCreate(rows, spec, { incarnation, jobsCount, nowMs });
      if (kept.kind === 'unchanged') {
        // An earlier attempt created the job, but its reply was lost.
        const created = kept.info.incarnation === incarnation;
        return { answer: async () => ({ job: await this.#infoOf(job, signal), created }) };
      }
      const answer = (moment: Moment) => {
        const row = { ...kept.job, createdAtMs: moment.timestampMs };
        return { job: jobInfoOf(row, moment), created: true };
      };
      return { kept, answer };
    });
  }

  updateJob(meant: MeantJob, patch: JobPatch, signal: Signal): Promise<JobInfo> {
    const { writtenTags } = this.#documents(meant.jobId);
    return this.#change(meant, { signal }, async ({ job, nowMs, transaction }) => {
      const tags = readTags(await transaction.get(writtenTags));
      const rows = job && { job, head: HEAD, tags };
      const kept = decideUpdate(rows, { ...meant, patch }, nowMs);
      return { kept, answer: (moment) => jobInfoOf(kept.job, moment) };
    });
  }

  markJobDeleted(meant: MeantJob, signal: Signal): Promise<JobInfo> {
    return this.#change(meant, { signal }, ({ job, nowMs }) => {
      const kept = decideMark(job && { job, head: HEAD }, meant, nowMs);
      if (kept.kind === 'unchanged') return { answer: () => this.#infoOf(job, signal) };
      const answer = (moment: Moment) =>
        jobInfoOf({ ...kept.job, deletedAtMs: moment.timestampMs }, moment);
      return { kept, answer };
    });
  }

  /**
   * First marks the job so that no one sees it any more, then removes its documents, the job document last. After a
   * crash in between, the next caller that finds the job continues from there.
   */
  deleteJob({ ifRevision, ...meant }: DeletedJob, signal: Signal): Promise<boolean> {
    const { jobId } = meant;
    const { job, jobCopy, newest } = this.#documents(jobId);
    return this.#change(meant, { signal }, async ({ record, transaction }) => {
      if (!record) return { answer: () => false };
      const { row, isDeleting } = record;
      checkIncarnationOf(row, meant.incarnation);
      if (!isDeleting && ifRevision !== undefined) {
        const revision = latestCommit((await transaction.get(newest)).docs);
        if (revision > ifRevision) throw movedOn(jobId, revision, ifRevision);
      }
      if (!isDeleting) {
        transaction.update(job, { isDeleting: true, deleted: true });
        transaction.delete(jobCopy);
      }
      const answer = async () => {
        await this.#removeAll(row);
        this.#deps.onDeleted(row);
        return true;
      };
      return { answer };
    });
  }

  lease(request: LeaseRequest, signal: Signal): Promise<TaskLease> {
    return this.#change(request, { signal }, ({ job, task, nowMs }) => {
      const rows = job && { job, head: HEAD, task: task?.row };
      const decision = decideLease(rows, request, nowMs);
      if (decision.kind === 'unchanged') return { kept: {}, answer: () => decision.lease };
      return { kept: decision, answer: (moment) => leaseAt(decision.task, moment) };
    });
  }

  /** For a lease that has expired by the local clock; Firestore's clock decides. Undefined if it has not expired. */
  declareLost({ jobId, incarnation, taskId, epoch }: LeaseRef): Promise<TaskLease | undefined> {
    const renewals = this.#documents(jobId).lease(taskId);
    return this.#change({ jobId, taskId }, {}, async ({ job, task, nowMs, transaction }) => {
      const endMs = leaseEndMs(await transaction.get(renewals), epoch);
      const isOver = endMs !== undefined && endMs <= nowMs && job?.incarnation === incarnation;
      const rows = isOver ? { job, head: HEAD, task: task?.row } : undefined;
      const kept = decideLost(rows, epoch, nowMs);
      if (!kept) return { answer: () => undefined };
      return { kept, answer: (moment) => leaseAt(kept.task, moment) };
    });
  }

  /** Writes to the same key run one at a time: their transactions would only conflict. */
  async setState(write: CheckedWrite, signal: Signal): Promise<EncodedResult> {
    const { jobId, taskId, tag, bytes } = write;
    this.#quota.check(bytes);
    this.#quota.add(1, bytes);
    try {
      return await this.#inTurn(`${jobId}/${taskId}/${tag}`, signal, () =>
        this.#isKnown(write) ? this.#setState(write, signal) : this.#setNewTag(write, signal),
      );
    } finally {
      this.#quota.add(-1, bytes);
    }
  }

  /**
   * New tags are added one write at a time too, since all tags of a job are in one document. The first write also adds
   * the other waiting tags, which are then written concurrently.
   */
  async #setNewTag(write: CheckedWrite, signal: Signal): Promise<EncodedResult> {
    const { incarnation, tag } = write;
    const set = () => this.#setState(write, signal);
    const waiting = this.#newTags.get(incarnation) ?? new Set();
    this.#newTags.set(incarnation, waiting.add(tag));
    try {
      const setUnlessKnown = async () => (this.#isKnown(write) ? undefined : set());
      return (await this.#inTurn(incarnation, signal, setUnlessKnown)) ?? (await set());
    } finally {
      waiting.delete(tag);
      if (waiting.size === 0) this.#newTags.delete(incarnation);
    }
  }

  #isKnown({ incarnation, tag }: CheckedWrite): boolean {
    return this.#tags.get(incarnation)?.has(tag) ?? false;
  }

  #setState(write: CheckedWrite, signal: Signal): Promise<EncodedResult> {
    const { jobId, incarnation, taskId, tag, epoch, eventId, digest } = write;
    const documents = this.#documents(jobId);
    return this.#change(write, { eventId, digest, signal }, async (found) => {
      const { job, task, state: stored, nowMs, transaction } = found;
      const isNewTag = !stored && !this.#isKnown(write);
      const tags = isNewTag ? readTags(await transaction.get(documents.writtenTags)) : undefined;
      const statesCount = job && !stored ? await this.#statesCount(job) : 0;
      const rows = { head: { ...HEAD, statesCount }, task: task?.row, cell: stored?.cell };
      const decision = decideSetState(job && { job, ...rows, tags: tags ?? ANY_TAG }, write, nowMs);
      if (decision.kind !== 'apply') {
        const isDuplicate = decision.kind === 'duplicate';
        const current = stored?.state ?? defaultState(jobId, taskId, tag);
        const state = encodeState(isDuplicate ? decision.state : current);
        return { answer: () => ({ applied: isDuplicate, duplicate: isDuplicate, state }) };
      }
      // A writer with the current epoch is alive: first the lease is held again, which is a separate change.
      const renewal = { jobId, incarnation, taskId, epoch, action: 'renew', ttlMs: 0 } as const;
      if (decision.task) return { first: () => this.lease({ ...renewal, holder: '' }, signal) };
      if (job && tags && !tags.has(tag)) {
        for (const added of [tag, ...(this.#newTags.get(incarnation) ?? [])])
          if (tagsCount(job, tags, added) <= jobsLimits.tagsPerJobMax.value) tags.add(added);
        transaction.set(documents.writtenTags, { tags: [...tags] });
      }
      const answer = (moment: Moment) => {
        this.#noteTags(incarnation, tags ?? [tag]);
        const state = encodeState({ ...decision.state, ...moment });
        return { applied: true, duplicate: false, state };
      };
      return { kept: { state: decision.state }, answer };
    });
  }

  #noteTags(incarnation: string, tags: Iterable<string>): void {
    if (this.#tags.size >= jobsLimits.jobsMax.value) this.#tags.clear();
    this.#tags.set(incarnation, new Set([...(this.#tags.get(incarnation) ?? []), ...tags]));
  }

  /** Counts only if the limit could be reached. */
  async #statesCount({ jobId, incarnation, numTasks }: JobRow): Promise<number> {
    const statesMax = numTasks * ((this.#tags.get(incarnation)?.size ?? 0) + 1);
    if (statesMax <= jobsLimits.statesPerJobMax.value) return 0;
    return (await this.#documents(jobId).states.count().get()).data().count;
  }

  /** Runs one transaction, again if necessary. Its revision is found by reading back what it has stored. */
  async #change<T>(
    key: Key,
    { signal, eventId = this.#newId(), digest = '' }: ChangeOptions,
    decide: (found: Found) => Decided<T> | Promise<Decided<T>>,
  ): Promise<T> {
    const { calls } = this.#deps;
    const { jobId } = key;
    const documents = this.#documents(jobId);
    const body = async (transaction: Transaction) => {
      const found = await readRows(transaction, documents, key);
      const decided = await decide(found);
      const kept = 'first' in decided ? undefined : decided.kept;
      const { incarnation = '' } = kept?.job ?? found.job ?? {};
      const stored = kept && storeRow(documents, found, kept, { incarnation, eventId, digest });
      return { decided, stored };
    };
    for (;;) {
      const transaction = this.#deps.calls.transact(`the write to job "${jobId}"`, body, {
        signal,
      });
      const { decided, stored } = await countFenced(this.#deps.metrics, transaction);
      if ('first' in decided) {
        await decided.first();
        continue;
      }
      if (!stored) return decided.answer(HEAD);
      // If reading back fails, a retry with the same event id gets the correct result.
      const options = { signal, outcome: 'unknown' } as const;
      const snapshot = await calls.read(`reading back ${stored.path}`, () => stored.get(), options);
      const write = readWritten(snapshot, {})?.recent.find((recent) => recent.eventId === eventId);
      if (write) this.#deps.onCommitted(jobId, write.revision);
      const revision = write?.revision ?? microsOf(snapshot.readTime); // deleted since: the revision no longer matters
      return decided.answer({ revision, timestampMs: millisOf(revision) });
    }
  }

  /** Removes the remaining documents of a job whose deletion has begun, unless it has been recreated since. */
  async #removeAll({ jobId, incarnation }: JobRow): Promise<void> {
    const { states, tasks, leases, tags, job } = this.#documents(jobId);
    const remove = (page: Query | undefined) => {
      const body = async (transaction: Transaction) => {
        const record = readJob(await transaction.get(job));
        if (record?.incarnation !== incarnation) return 0;
        if (!page) transaction.delete(job);
        const { docs } = page ? await transaction.get(page) : { docs: [] };
        for (const { ref } of docs) transaction.delete(ref);
        return docs.length;
      };
      const options = { outcome: 'unknown' } as const; // the job is already invisible
      return this.#deps.calls.transact(`the deletion of job "${jobId}"`, body, options);
    };
    for (const collection of [states, tasks, leases, tags]) {
      const page = collection.limit(jobsLimits.firestoreDeletesMax.value);
      while ((await remove(page)) > 0);
    }
    await remove(undefined);
  }

  /** Runs calls with the same key one at a time. An aborted call does not wait any longer. */
  async #inTurn<T>(key: string, signal: Signal, run: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(key);
    const turn = before ? settledOrAborted(before, signal).then(run) : run();
    this.#turns.set(key, turn);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(key) === turn) this.#turns.delete(key);
    }
  }

  #infoOf(job: JobRow | undefined, signal: Signal): Promise<JobInfo> {
    if (!job) throw new TypeError('an unchanged job must exist');
    return this.#deps.infoOf(job, signal);
  }

  #documents(jobId: string): JobDocuments {
    return jobDocuments(this.#deps.firestore, jobId);
  }

  #newId(): string {
    return Buffer.from(this.#deps.random.bytes(ID_BYTES)).toString('hex');
  }
}

function leaseAt(task: TaskRow, { revision, timestampMs }: Moment): TaskLease {
  return leaseOf({ ...task, revision }, timestampMs);
}

function settledOrAborted(promise: Promise<unknown>, signal: Signal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      signal?.removeEventListener('abort', done);
      resolve();
    };
    signal?.addEventListener('abort', done);
    promise.catch(() => {}).finally(done);
  });
}

// All writes to Firestore. Each is one transaction that reads the documents it depends on, has the core decide, and
// stores the result. A state write only reads the documents of its job and task, so tasks and tags do not contend.
//
// J1   A transaction commits only if nothing that it read has changed, so versions of a key rise by one.
// J13  The epoch is in the document of the task, which every write of the task reads.
// J15  If a job is created concurrently, one transaction commits; the others conflict, retry and find the created job.
import { Buffer } from 'node:buffer';
import type { Query, Transaction } from '@google-cloud/firestore';
import { KeyedQueue, type Outcome } from '@syncline/kernel';
import type { CheckedWrite } from '../checks/checked-write.js';
import * as core from '../core/decisions.js';
import { checkIncarnationOf, tagsCount } from '../core/refusals.js';
import { type JobRow, jobInfoOf } from '../core/rows.js';
import { encodeState } from '../engine/changes.js';
import type { EncodedResult, StoreWrites } from '../engine/checked-job-store.js';
import { revisionMismatch } from '../engine/job-writes.js';
import type { EngineDeps, LeaseRef } from '../engine/store-adapter.js';
import { WriteQuota } from '../engine/write-quota.js';
import { defaultState, type JobInfo } from '../job.js';
import { limitValues } from '../limits.js';
import { countFenced } from '../metrics-list.js';
import type { FirestoreCalls } from './firestore-calls.js';
import * as layout from './job-documents.js';

type Watch = { noteShown(revision: number): void; onDeleted(incarnation: string): void };

export interface FirestoreWritesDeps extends EngineDeps {
  readonly calls: FirestoreCalls;
  /** The listener of a job, if there is one: its reads must include what this store has written or returned. */
  readonly watchOf: (jobId: string) => Watch | undefined;
}

type Signal = AbortSignal | undefined;

/** Only `apply` stores a row; `unchanged` renews the lease. */
type Decision = (Readonly<{ kind: string }> & layout.Changed) | undefined;

interface Change extends layout.Key {
  readonly signal?: Signal;
  /** Identifies the write when it is read back after the commit. */
  readonly eventId?: string;
  readonly digest?: string;
  /** Called in the transaction, if it stores a state. */
  readonly onStore?: (transaction: Transaction, found: layout.Found) => void;
}

/** The written tags of a job that this process knows of, and those that wait to be added. */
type KnownTags = Readonly<{ known: Set<string>; waiting: Set<string> }>;

const ID_BYTES = 8;

export class FirestoreWrites implements StoreWrites {
  readonly #deps: FirestoreWritesDeps;
  readonly #quota: WriteQuota;
  /** By incarnation. */
  readonly #tags = new Map<string, KnownTags>();
  readonly #queue = new KeyedQueue();

  constructor(deps: FirestoreWritesDeps) {
    this.#deps = deps;
    this.#quota = new WriteQuota(deps.metrics);
  }

  createJob: StoreWrites['createJob'] = async (spec, signal) => {
    const incarnation = this.#newId();
    const counted = () => this.#deps.calls.jobs;
    const change = { jobId: spec.jobId, counted, eventId: incarnation, signal };
    const { decision, found, revision } = await this.#change(change, (before) => {
      const { stored, rows, count: jobsCount, nowMs } = before;
      if (stored && !rows) return undefined; // a process stopped while deleting it
      return core.decideCreate(rows, spec, { incarnation, jobsCount, nowMs });
    });
    // The core counts revisions of a new job from 1.
    if (decision?.kind === 'apply') return { job: { ...decision.info, revision }, created: true };
    if (found.rows) {
      const { job } = found.rows;
      // If an earlier attempt created the job, its reply was lost.
      const created = job.incarnation === incarnation;
      return { job: await this.infoOf(job, signal, created ? 'unknown' : 'not-applied'), created };
    }
    if (found.stored) await this.#removeAll(found.stored.row);
    return this.createJob(spec, signal);
  };

  updateJob: StoreWrites['updateJob'] = async (meant, patch, signal) => {
    const other = this.#deps.calls.documents(meant.jobId).writtenTags;
    const { decision } = await this.#change({ ...meant, other, signal }, (found) => {
      const { rows, nowMs } = found;
      const tags = layout.readTags(found.other);
      return core.decideUpdate(rows && { ...rows, tags }, { ...meant, patch }, nowMs);
    });
    return decision.info;
  };

  markJobDeleted: StoreWrites['markJobDeleted'] = async (meant, signal) => {
    const { decision, found } = await this.#change({ ...meant, signal }, ({ rows, nowMs }) =>
      core.decideMark(rows, meant, nowMs),
    );
    const isMarked = decision.kind === 'unchanged';
    return isMarked && found.rows ? this.infoOf(found.rows.job, signal, 'unknown') : decision.info;
  };

  /**
   * First marks the job so that no one sees it any more, then removes its documents, the job document last. After a
   * crash in between, the next caller that finds the job continues from there.
   */
  deleteJob: StoreWrites['deleteJob'] = async ({ jobId, incarnation, ifRevision }, signal) => {
    const { calls, metrics, watchOf } = this.#deps;
    const documents = calls.documents(jobId);
    const mark = async (transaction: Transaction) => {
      const { stored, rows } = await layout.readRows(transaction, documents, { jobId });
      if (stored) checkIncarnationOf(stored.row, incarnation);
      if (!rows) return stored?.row;
      if (ifRevision !== undefined) {
        const revision = layout.latestCommit(await transaction.get(documents.newest));
        if (revision > ifRevision) throw revisionMismatch(jobId, revision, ifRevision);
      }
      transaction.update(documents.job, { isDeleting: true, deleted: true });
      transaction.delete(documents.jobCopy);
      return rows.job;
    };
    const marking = calls.transact(`the deletion of job "${jobId}"`, mark, { signal });
    const row = await countFenced(metrics, marking);
    if (!row) return false;
    await this.#removeAll(row);
    watchOf(jobId)?.onDeleted(row.incarnation);
    return true;
  };

  lease: StoreWrites['lease'] = async (request, signal) => {
    const { decision } = await this.#change({ ...request, signal }, ({ rows, nowMs }) =>
      core.decideLease(rows, request, nowMs),
    );
    return decision.lease;
  };

  /** For a lease that has expired by the local clock; Firestore's clock decides. */
  async declareLost({ jobId, incarnation, taskId, epoch }: LeaseRef): Promise<void> {
    const { calls, logger, metrics } = this.#deps;
    const key = { jobId, taskId, other: calls.documents(jobId).lease(taskId) };
    const { decision } = await this.#change(key, ({ rows, other, nowMs }) => {
      const isOver = other && layout.leaseEndMs(other, epoch) <= nowMs;
      const isLost = isOver && rows?.job.incarnation === incarnation;
      return isLost ? core.decideLost(rows, epoch, nowMs) : undefined;
    });
    if (!decision) return;
    const { revision } = decision.lease;
    logger.warn('🟡 a task lost its lease', { jobId, taskId, epoch, revision });
    metrics.add('syncline_jobs_leases_lost_total');
  }

  /** Writes to the same key run one at a time: their transactions would only conflict. */
  async setState(write: CheckedWrite, signal: Signal): Promise<EncodedResult> {
    const { jobId, incarnation, taskId, tag, bytes } = write;
    this.#quota.check(bytes);
    this.#quota.add(1, bytes);
    const tags = this.#tags.get(incarnation) ?? { known: new Set(), waiting: new Set() };
    if (this.#tags.size >= limitValues.jobsMax) this.#tags.clear();
    this.#tags.set(incarnation, tags);
    const set = () => this.#setState(write, tags, signal);
    const setUnlessKnown = async () => (tags.known.has(tag) ? undefined : set());
    const inTurn = async () => {
      if (tags.known.has(tag)) return set();
      // All tags of a job are in one document. The first write also adds the other waiting tags.
      tags.waiting.add(tag);
      try {
        return (await this.#queue.run(incarnation, setUnlessKnown, signal)) ?? (await set());
      } finally {
        tags.waiting.delete(tag);
      }
    };
    try {
      return await this.#queue.run(`${jobId}/${taskId}/${tag}`, inTurn, signal);
    } finally {
      if (tags.known.size + tags.waiting.size === 0) this.#tags.delete(incarnation);
      this.#quota.add(-1, bytes);
    }
  }

  async #setState(
    write: CheckedWrite,
    { known, waiting }: KnownTags,
    signal: Signal,
  ): Promise<EncodedResult> {
    const { jobId, taskId, tag, eventId, digest } = write;
    const { states, writtenTags } = this.#deps.calls.documents(jobId);
    let tags: Iterable<string> = [tag];
    const change = {
      ...{ jobId, taskId, tag, eventId, digest, signal },
      other: known.has(tag) ? undefined : writtenTags,
      /** Only if the limit on states could be reached. */
      counted: (job: JobRow | undefined) =>
        job && job.numTasks * (known.size + 1) > limitValues.statesPerJobMax ? states : undefined,
      onStore: (transaction: Transaction, { rows, other }: layout.Found) => {
        if (!other || !rows) return;
        const written = layout.readTags(other);
        tags = written;
        if (written.has(tag)) return;
        for (const added of [tag, ...waiting])
          if (tagsCount(rows.job, written, added) <= limitValues.tagsPerJobMax) written.add(added);
        transaction.set(writtenTags, { tags: [...written] });
      },
    };
    const { decision, found } = await this.#change(change, (before) => {
      const { rows, state, other, nowMs } = before;
      const cell = state && { ...state.row, progress: 0, recent: state.recent };
      const tagsBefore = other ? layout.readTags(other) : known;
      return core.decideSetState(rows && { ...rows, cell, tags: tagsBefore }, write, nowMs);
    });
    const { kind } = decision;
    if (kind === 'apply') for (const each of tags) known.add(each);
    const current = found.state?.row ?? defaultState(jobId, taskId, tag);
    const state = encodeState(kind === 'version' ? current : decision.state);
    return { applied: kind !== 'version', duplicate: kind === 'duplicate', state };
  }

  /** The job with its latest revision. `outcome` is that of the call if this read fails. */
  async infoOf(row: JobRow, signal: Signal, outcome: Outcome = 'not-applied'): Promise<JobInfo> {
    const { calls, watchOf } = this.#deps;
    const { jobId, metadataRevision } = row;
    const newest = await calls.newestCommit(jobId, { signal, outcome });
    const revision = Math.max(metadataRevision, newest);
    watchOf(jobId)?.noteShown(revision);
    return jobInfoOf(row, { revision, timestampMs: layout.millisOf(revision) });
  }

  /**
   * Runs one transaction. Its revision is found by reading back what it has stored. The core computes revisions from
   * the one before, so the change is then decided again, with the head as of the commit.
   */
  async #change<D extends Decision>(
    change: Change,
    decide: (found: layout.Found) => D,
  ): Promise<{ readonly decision: D; readonly found: layout.Found; readonly revision: number }> {
    const { calls, metrics, watchOf } = this.#deps;
    const { jobId, signal, eventId = this.#newId(), digest = '', onStore } = change;
    const documents = calls.documents(jobId);
    const body = async (transaction: Transaction) => {
      const found = await layout.readRows(transaction, documents, change);
      const decision = decide(found);
      if (decision?.kind !== 'apply' && decision?.kind !== 'unchanged') return { found, decision };
      if (decision.state && !decision.task) onStore?.(transaction, found);
      const changed = { ...decision, eventId, digest };
      return { found, decision, stored: layout.storeRow(transaction, documents, found, changed) };
    };
    const transaction = calls.transact(`the write to job "${jobId}"`, body, { signal });
    const { found, decision, stored } = await countFenced(metrics, transaction);
    if (!stored) return { decision, found, revision: 0 };
    // A commit has one revision. If the lease was lost, this one has made it held again, and the state follows.
    if (decision?.task && decision.state) return this.#change(change, decide);
    // If reading back fails, a retry with the same event id gets the correct result.
    const reading = { signal, outcome: 'unknown' } as const;
    const snapshot = await calls.read(`reading back ${stored.path}`, () => stored.get(), reading);
    const write = layout.readWrites(snapshot)?.recent.find((recent) => recent.eventId === eventId);
    if (write) watchOf(jobId)?.noteShown(write.revision);
    const revision = write?.revision ?? 1_000 * found.nowMs; // deleted since: the revision no longer matters
    const rows = found.rows && { ...found.rows, head: { ...layout.HEAD, revision: revision - 1 } };
    const before = { ...found, rows, nowMs: layout.millisOf(revision) };
    return { decision: decide(before), found, revision };
  }

  /** Removes the remaining documents of a job whose deletion has begun, unless it has been recreated since. */
  async #removeAll({ jobId, incarnation }: JobRow): Promise<void> {
    const { calls } = this.#deps;
    const { states, tasks, leases, tags, job } = calls.documents(jobId);
    /** A page of documents, or that of the job itself. */
    const remove = (page?: Query) => {
      const body = async (transaction: Transaction) => {
        const document = await transaction.get(job);
        if (layout.readJob(document)?.incarnation !== incarnation) return 0;
        const { docs } = page ? await transaction.get(page) : { docs: [document] };
        for (const { ref } of docs) transaction.delete(ref);
        return docs.length;
      };
      const options = { outcome: 'unknown' } as const; // the job is already invisible
      return calls.transact(`the deletion of job "${jobId}"`, body, options);
    };
    for (const collection of [states, tasks, leases, tags]) {
      const page = collection.limit(limitValues.firestoreDeletesMax);
      while ((await remove(page)) > 0);
    }
    await remove();
  }

  #newId(): string {
    return Buffer.from(this.#deps.random.bytes(ID_BYTES)).toString('hex');
  }
}

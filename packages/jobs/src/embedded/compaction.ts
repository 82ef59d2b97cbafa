// Removes records of the log that are replaced and outside retention, from `compactedTo` upward.
//
// A step reads the next records, then asks for a place in a batch. There it looks again: what was replaced
// meanwhile goes too, since whoever replaced it still saw the old `compactedTo`. Removal and the new
// `compactedTo` are one batch. Later commits remove what they replace at or below it themselves, so every
// record is looked at once.
//
// The latest record of a key stays for ever. What replaced a record must be as durable as its removal: if
// that was a buffered write, its row and record are written once more with the step.
import { type Clock, type Logger, type Storage, SynclineError } from '@syncline/kernel';
import { jobsLimits } from '../limits.js';
import { LogRecord, type RecordSubject } from './change-codec.js';
import type { CommitQueue } from './commit-queue.js';
import { cellKey, type KeyRange, logKey, logRange, revisionOfKey } from './keys.js';
import type { LoadedJob } from './loaded-job.js';
import { isCorrupt, readRows } from './read-rows.js';
import { decodeCell } from './row-codec.js';
import { corruptRow } from './row-reader.js';
import type { StagedBatch } from './staged-batch.js';
import { StagedJob } from './staged-job.js';

export interface CompactionDeps {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly queue: CommitQueue;
  /** Whether a loss of power may take writes. */
  hasBufferedWrites(): boolean;
  isCurrent(job: LoadedJob): boolean;
}

interface Candidate {
  readonly revision: number;
  readonly subject: RecordSubject;
}

/** What a removal adds to a batch, about. */
const REMOVAL_BYTES = 32;

export class Compaction {
  readonly #deps: CompactionDeps;
  readonly #keysMax: number;
  readonly #running = new Set<Promise<void>>();
  #isStopped = false;

  constructor(deps: CompactionDeps, keysMax: number) {
    this.#deps = deps;
    this.#keysMax = keysMax;
  }

  /** Call it after each commit, and now and then: steps run as long as there is a whole one to do. */
  consider(job: LoadedJob, recordsMin = this.#keysMax): void {
    if (job.isCompacting || this.#isStopped || this.#due(job) < recordsMin) return;
    job.isCompacting = true;
    const run = this.#run(job, recordsMin).finally(() => {
      job.isCompacting = false;
      this.#running.delete(run);
    });
    this.#running.add(run);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#running);
  }

  /** How many revisions are outside retention and not looked at yet. */
  #due(job: LoadedJob): number {
    return this.#target(job) - job.head.compactedTo;
  }

  #target({ retention, head }: LoadedJob): number {
    return Math.min(head.revision, retention.outside(head.revision, this.#deps.clock.nowMs()));
  }

  async #run(job: LoadedJob, recordsMin: number): Promise<void> {
    try {
      while (!this.#isStopped && !job.isDeleted && this.#due(job) >= recordsMin) {
        await this.#step(job);
      }
    } catch (thrown) {
      // A later commit asks for it again; until then the log is longer than it must be.
      const error = SynclineError.from(thrown, 'storage-failed');
      if (error.code === 'closed') return;
      const { jobId } = job.row;
      this.#deps.logger.warn('🟡 the log of a job was not compacted', { jobId, error: error.code });
    }
  }

  /** Above `compactedTo` every revision has its record, so a step is a range of revisions. */
  async #step(job: LoadedJob): Promise<void> {
    const { compactedTo } = job.head;
    const through = Math.min(this.#target(job), compactedTo + this.#keysMax);
    const candidates = await this.#read(job, logRange(job.jobNo, compactedTo, through));
    await new Promise<void>((resolve, reject) => {
      this.#deps.queue.pushInternal({
        bytes: candidates.length * REMOVAL_BYTES,
        prepare: (batch) => this.#prepare(batch, job, { candidates, compactedTo: through }),
        done: resolve,
        failed: reject,
      });
    });
  }

  /** A record that cannot be read stays where it is. */
  async #read(job: LoadedJob, range: KeyRange): Promise<readonly Candidate[]> {
    const { storage, logger } = this.#deps;
    const candidates: Candidate[] = [];
    await storage.whenReadable();
    await readRows(storage, range, {
      row: (key, value) => {
        const { revision, subject } = new LogRecord(key, value);
        candidates.push({ revision, subject });
      },
      damaged: (key) => {
        const fields = { jobId: job.row.jobId, revision: revisionOfKey(key), error: 'corrupt' };
        logger.error('🔴 a record of a job is damaged', fields);
      },
    });
    return candidates;
  }

  #prepare(
    batch: StagedBatch,
    job: LoadedJob,
    step: { readonly candidates: readonly Candidate[]; readonly compactedTo: number },
  ): void {
    const { jobId } = job.row;
    const found = batch.find(jobId);
    if (!this.#deps.isCurrent(job) || found?.isDeleted || (found && found.job !== job)) return;
    const staged = found ?? batch.add(jobId, new StagedJob(job));
    let { compactedTo } = step;
    for (const { revision, subject } of step.candidates) {
      if (batch.rewrittenBytes >= jobsLimits.commitBytesMax.value) {
        compactedTo = revision - 1; // the next step goes on here
        break;
      }
      if (this.#mayGo(batch, staged, { revision, subject })) staged.remove(revision);
    }
    staged.head.compactedTo = Math.max(staged.head.compactedTo, compactedTo);
    batch.requireSynced();
  }

  /** Where a row is damaged nobody knows what replaced the record: it stays. */
  #mayGo(batch: StagedBatch, staged: StagedJob, { revision, subject }: Candidate): boolean {
    try {
      if (!isReplaced(staged, subject, revision)) return false;
      if (subject.kind === 'state') this.#secure(batch, staged, subject);
      return true;
    } catch (thrown) {
      if (isCorrupt(thrown)) return false;
      throw thrown;
    }
  }

  /** What replaced the record must survive as surely as the record will be gone. */
  #secure(
    batch: StagedBatch,
    staged: StagedJob,
    { tagNo, taskId }: { readonly tagNo: number; readonly taskId: number },
  ): void {
    if (!this.#deps.hasBufferedWrites() || staged.stagedCell(tagNo, taskId)) return;
    const { storage } = this.#deps;
    const { jobNo } = staged.job;
    const key = cellKey(jobNo, tagNo, taskId);
    const bytes = storage.get(key);
    if (!bytes) throw corruptRow(key);
    const cell = decodeCell(key, bytes);
    if (!cell.isBuffered) return;
    const recordKey = logKey(jobNo, cell.row.revision);
    const value = storage.get(recordKey);
    if (!value) throw corruptRow(recordKey);
    batch.rewrite({ key: recordKey, value });
    staged.stageAgain(tagNo, taskId, cell);
  }
}

function isReplaced(staged: StagedJob, subject: RecordSubject, revision: number): boolean {
  switch (subject.kind) {
    case 'state':
      return staged.placeOf(subject.tagNo, subject.taskId) > revision;
    case 'lease':
      return (staged.taskOf(subject.taskId)?.revision ?? 0) > revision;
    case 'job':
      return staged.row.metadataRevision > revision;
  }
}

// Removes replaced changes that are outside retention, from `compactedTo` upward.
//
// A step reads the next changes, then joins a commit, where it checks them again: changes replaced since the read are
// removed too, because the commits that replaced them saw the old `compactedTo`. Later commits themselves remove what
// they replace at or below the new one, so compaction reads each change once.
import { SynclineError } from '@syncline/kernel';
import { hasCode } from '../core/refusals.js';
import { limitValues } from '../limits.js';
import type { EngineParts } from './commits.js';
import type { JobMirror } from './job-mirror.js';
import type { CommitBatch, StagedJob } from './staged-job.js';
import type { RemovedChange } from './store-adapter.js';

/** Approximate size that a removal adds to a commit. */
const REMOVAL_BYTES = 32;
const EVERYTHING = { scope: {}, withLeases: true, withJob: true };

export class Compaction {
  readonly #deps: EngineParts;
  readonly #keysMax: number;
  readonly #running = new Set<Promise<void>>();
  #isStopped = false;

  constructor(deps: EngineParts, keysMax: number) {
    this.#deps = deps;
    this.#keysMax = keysMax;
  }

  /** Call it after each commit, and periodically. Runs steps as long as at least `changesMin` changes are due. */
  consider(job: JobMirror, changesMin = this.#keysMax): void {
    if (!this.#isDue(job, changesMin) || job.isCompacting) return;
    job.isCompacting = true;
    const run = this.#run(job, changesMin).finally(() => {
      job.isCompacting = false;
      this.#running.delete(run);
    });
    this.#running.add(run);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#running);
  }

  #isDue(job: JobMirror, changesMin: number): boolean {
    if (this.#isStopped || job.isDeleted) return false;
    return this.#target(job) - job.head.compactedTo >= changesMin;
  }

  #target({ retention, head }: JobMirror): number {
    return Math.min(head.revision, retention.outside(head.revision, this.#deps.clock.nowMs()));
  }

  async #run(job: JobMirror, changesMin: number): Promise<void> {
    try {
      while (this.#isDue(job, changesMin) && (await this.#step(job)));
    } catch (thrown) {
      // A later commit triggers it again; until then the store keeps more than necessary.
      const { code } = SynclineError.from(thrown, 'storage-failed');
      const { jobId } = job.row;
      if (code !== 'closed' && !job.isDeleted)
        this.#deps.logger.warn('🟡 the log of a job was not compacted', { jobId, error: code });
    }
  }

  /** False when the job is no longer in memory. */
  async #step(job: JobMirror): Promise<boolean> {
    const { compactedTo, candidates } = await this.#read(job);
    let isCurrent = false;
    const decide = (batch: CommitBatch, staged: StagedJob | undefined) => {
      isCurrent = staged?.job === job;
      if (!staged || !isCurrent) return; // deleted or evicted in the meantime
      for (const change of candidates) {
        // In a shared store, another process may have compacted further since the read.
        if (change.revision > staged.head.compactedTo && isReplaced(staged, change))
          staged.remove(change);
      }
      staged.head.compactedTo = Math.max(staged.head.compactedTo, compactedTo);
      batch.requireSynced();
    };
    const bytes = candidates.length * REMOVAL_BYTES;
    await this.#deps.commits.run(job.row.jobId, decide, { bytes, isOwn: true });
    return isCurrent;
  }

  /** A change that cannot be read is kept. */
  async #read(job: JobMirror) {
    const { adapter, commits, logger } = this.#deps;
    const { compactedTo } = job.head;
    const through = Math.min(this.#target(job), compactedTo + this.#keysMax);
    const candidates: RemovedChange[] = [];
    let bytes = 0;
    await adapter.whenReadable?.();
    const view = await commits.whenInSync(() => adapter.openView(job, EVERYTHING));
    try {
      const onDamaged = (revision: number) => {
        const fields = { jobId: job.row.jobId, revision, error: 'corrupt' };
        if (revision <= through) logger.error('🔴 a change of a job is damaged', fields);
      };
      for await (const page of view.changes(compactedTo, onDamaged)) {
        for (const { kind, revision, taskId, tag, bytes: message } of page) {
          if (revision > through) return { candidates, compactedTo: through };
          bytes += message.length;
          if (bytes > limitValues.commitBytesMax && candidates.length > 0)
            return { candidates, compactedTo: revision - 1 };
          candidates.push({ kind, revision, taskId, tag });
        }
      }
    } finally {
      view.close();
    }
    return { candidates, compactedTo: through };
  }
}

/** False if the row is damaged: whether the change was replaced is then unknown, and it is kept. */
function isReplaced(staged: StagedJob, change: RemovedChange): boolean {
  try {
    return staged.latestRevision(change) > change.revision;
  } catch (thrown) {
    if (hasCode(thrown, 'corrupt')) return false;
    throw thrown;
  }
}

export type RetentionLimits = Readonly<
  Record<'retentionRevisionsMax' | 'retentionMs' | 'retentionBytesMax', number>
>;

interface Mark {
  readonly revision: number;
  readonly timestampMs: number;
  /** Total size of all records up to this one, since the job was loaded. */
  readonly bytes: number;
}

const MARKS_PER_RETENTION = 256;

/**
 * Finds the newest change of a job that is outside retention: because of the number or size of the changes after it, or
 * because of its age. Marks at regular intervals, and one for the newest change, cover 100,000 changes with a few
 * hundred. They are not stored: when a job is loaded, all older changes count as written at the time of its last change.
 */
export class RetentionMarks {
  readonly #limits: RetentionLimits;
  /** Oldest first. */
  readonly #marks: Mark[];
  #newest: Mark;

  constructor(limits: RetentionLimits, head: Omit<Mark, 'bytes'>) {
    this.#limits = limits;
    this.#newest = { revision: head.revision, timestampMs: head.timestampMs, bytes: 0 };
    this.#marks = [this.#newest];
  }

  note(revision: number, timestampMs: number, bytes: number): void {
    const { retentionRevisionsMax, retentionBytesMax } = this.#limits;
    this.#newest = { revision, timestampMs, bytes: this.#newest.bytes + bytes };
    const mark = this.#marks.at(-1) ?? this.#newest;
    const everyRevisions = Math.max(1, Math.floor(retentionRevisionsMax / MARKS_PER_RETENTION));
    const isDue =
      revision >= mark.revision + everyRevisions ||
      this.#newest.bytes >= mark.bytes + retentionBytesMax / MARKS_PER_RETENTION;
    if (isDue) this.#marks.push(this.#newest);
  }

  /** Changes up to this revision may be removed if they have been replaced. */
  outside(revision: number, nowMs: number): number {
    const { retentionRevisionsMax, retentionMs, retentionBytesMax } = this.#limits;
    const tooMany = Math.max(0, revision - retentionRevisionsMax);
    const isOutside = (mark: Mark) =>
      mark.revision <= tooMany ||
      mark.timestampMs <= nowMs - retentionMs ||
      mark.bytes <= this.#newest.bytes - retentionBytesMax;
    if (isOutside(this.#newest)) return this.#newest.revision;
    // Keep the newest mark that is outside: the next call needs it.
    while (this.#marks[1] && isOutside(this.#marks[1])) this.#marks.shift();
    const [first] = this.#marks;
    return first && isOutside(first) ? Math.max(tooMany, first.revision) : tooMany;
  }
}

// Removes changes that were replaced and are outside retention, from `compactedTo` upward.
//
// A step reads the next changes, then asks for a place in a commit. There it looks again: what was replaced meanwhile
// goes too, since its replacement still saw the old `compactedTo`. Removal and the new `compactedTo` are one commit.
// Later commits remove what they replace at or below it themselves, so every change is looked at once. The latest
// change of each key stays.
import { type Clock, type Logger, SynclineError } from '@syncline/kernel';
import { jobsLimits } from '../limits.js';
import type { CommitBatch } from './commit-batch.js';
import type { Commits } from './commits.js';
import type { JobCache } from './job-cache.js';
import type { JobMirror, StagedJob } from './job-mirror.js';
import type { RemovedChange, StoreAdapter } from './store-adapter.js';

export interface CompactionDeps {
  readonly adapter: StoreAdapter;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly jobs: JobCache;
  readonly commits: () => Commits;
}

interface Step {
  readonly candidates: readonly RemovedChange[];
  readonly compactedTo: number;
}

/** What a removal adds to a commit, about. */
const REMOVAL_BYTES = 32;
const EVERYTHING = { scope: {}, withLeases: true, withJob: true };

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
  consider(job: JobMirror, changesMin = this.#keysMax): void {
    if (!this.#deps.adapter.compacts || this.#isStopped) return;
    if (job.isCompacting || this.#due(job) < changesMin) return;
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

  /** How many revisions are outside retention and were not looked at yet. */
  #due(job: JobMirror): number {
    return this.#target(job) - job.head.compactedTo;
  }

  #target({ retention, head }: JobMirror): number {
    return Math.min(head.revision, retention.outside(head.revision, this.#deps.clock.nowMs()));
  }

  async #run(job: JobMirror, changesMin: number): Promise<void> {
    try {
      while (!this.#isStopped && !job.isDeleted && this.#due(job) >= changesMin) {
        const step = await this.#read(job);
        await this.#commit(job, step);
      }
    } catch (thrown) {
      // A later commit asks for it again; until then the store keeps more than it must.
      const { code } = SynclineError.from(thrown, 'storage-failed');
      const { jobId } = job.row;
      if (code !== 'closed' && !job.isDeleted)
        this.#deps.logger.warn('🟡 the log of a job was not compacted', { jobId, error: code });
    }
  }

  /** A change that cannot be read stays where it is. */
  async #read(job: JobMirror): Promise<Step> {
    const { adapter, logger } = this.#deps;
    const { compactedTo } = job.head;
    const through = Math.min(this.#target(job), compactedTo + this.#keysMax);
    const candidates: RemovedChange[] = [];
    let bytes = 0;
    await adapter.whenReadable?.();
    const view = await this.#deps.commits().atLevel(() => adapter.openView(job));
    try {
      const onDamaged = (revision: number) => {
        const fields = { jobId: job.row.jobId, revision, error: 'corrupt' };
        if (revision <= through) logger.error('🔴 a change of a job is damaged', fields);
      };
      for await (const page of view.changes(EVERYTHING, compactedTo, onDamaged)) {
        for (const { kind, revision, taskId, tag, bytes: message } of page) {
          if (revision > through) return { candidates, compactedTo: through };
          bytes += message.length;
          if (bytes > jobsLimits.commitBytesMax.value && candidates.length > 0)
            return { candidates, compactedTo: revision - 1 };
          candidates.push({ kind, revision, taskId, tag });
        }
      }
    } finally {
      view.close();
    }
    return { candidates, compactedTo: through };
  }

  #commit(job: JobMirror, step: Step): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#deps.commits().push({
        jobId: job.row.jobId,
        bytes: step.candidates.length * REMOVAL_BYTES,
        prepare: (batch) => this.#prepare(batch, job, step),
        done: resolve,
        failed: reject,
      });
    });
  }

  #prepare(batch: CommitBatch, job: JobMirror, { candidates, compactedTo }: Step): void {
    const { jobId } = job.row;
    const found = batch.find(jobId);
    if (found ? found.isDeleted || found.job !== job : this.#deps.jobs.peek(jobId) !== job) return;
    const staged = found ?? batch.add(job);
    for (const change of candidates) if (isReplaced(staged, change)) staged.remove(change);
    staged.compactedTo = Math.max(staged.compactedTo, compactedTo);
    batch.requireSynced();
  }
}

/** Where a row is damaged nobody knows what replaced the change: it stays. */
function isReplaced(staged: StagedJob, change: RemovedChange): boolean {
  try {
    return staged.latestRevision(change) > change.revision;
  } catch (thrown) {
    if (thrown instanceof SynclineError && thrown.code === 'corrupt') return false;
    throw thrown;
  }
}

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
import type { Slots } from './slots.js';
import type { StagedJob } from './staged-job.js';
import type { RemovedChange } from './store-adapter.js';

/** Approximate size that a removal adds to a commit. */
const REMOVAL_BYTES = 32;
const EVERYTHING = { scope: {}, withLeases: true, withJob: true };

export type Compaction = ReturnType<typeof createCompaction>;

export function createCompaction(
  { adapter, clock, commits, logger }: EngineParts,
  slots: Slots,
  keysMax: number,
) {
  const running = new Set<Promise<void>>();
  let isStopped = false;

  const targetOf = ({ retention, head }: JobMirror) =>
    Math.min(head.revision, retention.outside(head.revision, clock.nowMs()));

  const isDue = (job: JobMirror, changesMin: number) =>
    !isStopped && !job.isDeleted && targetOf(job) - job.head.compactedTo >= changesMin;

  async function run(job: JobMirror, changesMin: number): Promise<void> {
    try {
      while (isDue(job, changesMin) && (await step(job)));
    } catch (thrown) {
      // A later commit triggers it again; until then the store keeps more than necessary.
      const { code } = SynclineError.from(thrown, 'storage-failed');
      const { jobId } = job.row;
      if (code !== 'closed' && !job.isDeleted)
        logger.warn('🟡 the log of a job was not compacted', { jobId, error: code });
    }
  }

  /** False when the job is no longer in memory, or the store closes. */
  async function step(job: JobMirror): Promise<boolean> {
    const found = await read(job);
    if (!found) return false;
    const { compactedTo, candidates } = found;
    let isCurrent = false;
    const decide = (staged: StagedJob | undefined) => {
      isCurrent = staged?.job === job;
      if (!staged || !isCurrent) return; // deleted or evicted in the meantime
      for (const change of candidates) {
        // In a shared store, another process may have compacted further since the read.
        if (change.revision > staged.head.compactedTo && isReplaced(staged, change))
          staged.remove(change);
      }
      staged.head.compactedTo = Math.max(staged.head.compactedTo, compactedTo);
    };
    const bytes = candidates.length * REMOVAL_BYTES;
    await commits.run(job.row.jobId, decide, { bytes, isOwn: true });
    return isCurrent;
  }

  /** A change that cannot be read is kept. Its view counts like those of readers, and waits like them. */
  async function read(job: JobMirror) {
    using _slot = await slots.take();
    if (isStopped) return undefined;
    const { compactedTo } = job.head;
    const through = Math.min(targetOf(job), compactedTo + keysMax);
    const candidates: RemovedChange[] = [];
    let bytes = 0;
    const view = await commits.whenInSync(() => adapter.openView(job, EVERYTHING));
    try {
      const onDamaged = (revision: number) => {
        const fields = { jobId: job.row.jobId, revision, error: 'corrupt' };
        if (revision <= through) logger.error('🔴 a change of a job is damaged', fields);
      };
      for await (const page of view.changes(compactedTo, onDamaged)) {
        for (const { kind, revision, taskId, tag, bytes: message } of page) {
          bytes += message.length;
          const isFull = bytes > limitValues.commitBytesMax && candidates.length > 0;
          if (isFull || revision > through)
            return { candidates, compactedTo: Math.min(through, revision - 1) };
          candidates.push({ kind, revision, taskId, tag });
        }
      }
    } finally {
      view.close();
    }
    return { candidates, compactedTo: through };
  }

  return {
    /** Call it after each commit, and periodically. Runs steps as long as at least `changesMin` changes are due. */
    consider(job: JobMirror, changesMin = keysMax): void {
      if (!isDue(job, changesMin) || job.isCompacting) return;
      job.isCompacting = true;
      const steps = run(job, changesMin).finally(() => {
        job.isCompacting = false;
        running.delete(steps);
      });
      running.add(steps);
    },

    async stop(): Promise<void> {
      isStopped = true;
      await Promise.all(running);
    },
  };
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

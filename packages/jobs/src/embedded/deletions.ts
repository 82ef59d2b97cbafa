// Removes the rows of deleted jobs, a few keys at a time so that the size of a commit does not depend on the job.
//
// A deleted job has an `x` row with its number. That row is removed last, so a removal interrupted by a crash restarts
// at the next start. Every step is synced: the `x` row must not disappear before the rows it stands for. Damaged rows
// are removed too: their keys are enough.
import {
  type Clock,
  type Logger,
  type Storage,
  StorageBatch,
  SynclineError,
} from '@syncline/kernel';
import { readBatches } from './load-rows.js';
import { deletedKey, jobRange, KeyKind } from './rows.js';

export interface EmbeddedAdapterDeps {
  /** The job store has exclusive use of it while open, and does not close it. */
  readonly storage: Storage;
  readonly clock: Clock;
  readonly logger: Logger;
}

const KINDS = [KeyKind.log, KeyKind.cell, KeyKind.task, KeyKind.tag, KeyKind.head] as const;
/** Delay before retrying after a failure, for example when the disk is full. */
const RETRY_MS = 1_000;

export type Deletions = ReturnType<typeof createDeletions>;

export function createDeletions({ storage, clock, logger }: EmbeddedAdapterDeps, keysMax: number) {
  const stopping = new AbortController();
  const { signal } = stopping;
  /** Job numbers of deletions that are committed but not yet carried out. */
  const jobNos: number[] = [];
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (jobNos.length > 0 && !signal.aborted) {
      const [jobNo = 0] = jobNos;
      try {
        await removeJob(jobNo);
        jobNos.shift();
      } catch (thrown) {
        jobNos.push(...jobNos.splice(0, 1)); // try the others first: only this job may be affected
        const { code } = SynclineError.from(thrown, 'storage-failed');
        if (code === 'closed' || code === 'storage-failed') break; // resumed at the next start
        logger.warn('🟡 a deleted job still has rows', { error: code });
        await clock.sleep(RETRY_MS, signal).catch(() => {}); // stopped: the loop ends
      }
    }
    running = undefined;
  }

  async function removeJob(jobNo: number): Promise<void> {
    const batch = new StorageBatch();
    for (const kind of KINDS) {
      await storage.whenReadable();
      for await (const page of readBatches(storage, jobRange(kind, jobNo))) {
        for (const { key } of page) {
          if (batch.delete(key).length < keysMax) continue;
          if (signal.aborted) return;
          await storage.write(batch, { durability: 'synced' });
          batch.clear();
        }
      }
    }
    await storage.write(batch.delete(deletedKey(jobNo)), { durability: 'synced' });
  }

  return {
    pendingCount: () => jobNos.length,

    /** Call it once the job's `x` row is stored. */
    add(jobNo: number): void {
      jobNos.push(jobNo);
      if (!signal.aborted) running ??= run();
    },

    async stop(): Promise<void> {
      stopping.abort();
      await running;
    },
  };
}

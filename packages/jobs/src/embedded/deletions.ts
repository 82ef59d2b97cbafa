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

export class Deletions {
  readonly #deps: EmbeddedAdapterDeps;
  readonly #keysMax: number;
  readonly #stop = new AbortController();
  /** Job numbers of deletions that are committed but not yet carried out. */
  readonly #jobNos: number[] = [];
  #running: Promise<void> | undefined;

  constructor(deps: EmbeddedAdapterDeps, keysMax: number) {
    this.#deps = deps;
    this.#keysMax = keysMax;
  }

  get pendingCount(): number {
    return this.#jobNos.length;
  }

  /** Call it once the job's `x` row is stored. */
  add(jobNo: number): void {
    this.#jobNos.push(jobNo);
    if (!this.#stop.signal.aborted) this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, logger } = this.#deps;
    const { signal } = this.#stop;
    while (this.#jobNos.length > 0 && !signal.aborted) {
      const [jobNo = 0] = this.#jobNos;
      try {
        await this.#removeJob(jobNo);
        this.#jobNos.shift();
      } catch (thrown) {
        this.#jobNos.push(...this.#jobNos.splice(0, 1)); // try the others first: only this job may be affected
        const { code } = SynclineError.from(thrown, 'storage-failed');
        if (code === 'closed' || code === 'storage-failed') break; // resumed at the next start
        logger.warn('🟡 a deleted job still has rows', { error: code });
        await clock.sleep(RETRY_MS, signal).catch(() => {}); // stopped: the loop ends
      }
    }
    this.#running = undefined;
  }

  async #removeJob(jobNo: number): Promise<void> {
    const { storage } = this.#deps;
    const batch = new StorageBatch();
    for (const kind of KINDS) {
      await storage.whenReadable();
      for await (const page of readBatches(storage, jobRange(kind, jobNo))) {
        for (const { key } of page) {
          if (batch.delete(key).length < this.#keysMax) continue;
          if (this.#stop.signal.aborted) return;
          await storage.write(batch, { durability: 'synced' });
          batch.clear();
        }
      }
    }
    await storage.write(batch.delete(deletedKey(jobNo)), { durability: 'synced' });
  }
}

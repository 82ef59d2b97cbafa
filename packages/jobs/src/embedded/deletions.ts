// Removes the rows of jobs that were deleted: some keys at a time, so that no commit grows with the job.
//
// A deleted job is a row `x` with its number. It goes last, so a removal that a crash cut off begins again at
// the next start. Every step is synced: the row must not be gone before what it stands for. Damaged rows go as
// well: their keys are enough.
import {
  type Clock,
  type Logger,
  type Storage,
  StorageBatch,
  SynclineError,
} from '@syncline/kernel';
import { deletedKey, jobRange, KeyKind } from './keys.js';
import { readRows } from './read-rows.js';

export interface DeletionsDeps {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly logger: Logger;
}

const KINDS = [KeyKind.log, KeyKind.cell, KeyKind.task, KeyKind.tag, KeyKind.head] as const;
/** A full disk is asked again after this. */
const RETRY_MS = 1_000;

export class Deletions {
  readonly #deps: DeletionsDeps;
  readonly #keysMax: number;
  readonly #stop = new AbortController();
  /** A number for each deletion that was committed and not yet carried out. */
  readonly #jobNos: number[] = [];
  #running: Promise<void> | undefined;

  constructor(deps: DeletionsDeps, keysMax: number) {
    this.#deps = deps;
    this.#keysMax = keysMax;
  }

  /** Jobs whose rows are still there. */
  get pendingCount(): number {
    return this.#jobNos.length;
  }

  /** Its row `x` is stored. */
  add(jobNo: number): void {
    this.#jobNos.push(jobNo);
    if (this.#stop.signal.aborted) return;
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, logger } = this.#deps;
    const { signal } = this.#stop;
    for (let jobNo = this.#jobNos[0]; jobNo !== undefined && !signal.aborted; ) {
      try {
        await this.#removeJob(jobNo);
        this.#jobNos.shift();
      } catch (thrown) {
        this.#jobNos.push(...this.#jobNos.splice(0, 1)); // others come first: it may be this one alone
        const { code } = SynclineError.from(thrown, 'storage-failed');
        if (code === 'closed' || code === 'storage-failed') break; // the next start goes on
        logger.warn('🟡 a deleted job still has rows', { error: code });
        await clock.sleep(RETRY_MS, signal).catch(() => {}); // stopped: the loop ends
      }
      jobNo = this.#jobNos[0];
    }
    this.#running = undefined;
  }

  async #removeJob(jobNo: number): Promise<void> {
    for (const kind of KINDS) {
      for (let isDone = false; !isDone; ) {
        if (this.#stop.signal.aborted) return;
        const keys = await this.#readKeys(kind, jobNo);
        if (keys.length > 0) await this.#commit(keys);
        isDone = keys.length < this.#keysMax;
      }
    }
    await this.#commit([deletedKey(jobNo)]);
  }

  async #readKeys(kind: (typeof KINDS)[number], jobNo: number): Promise<readonly Uint8Array[]> {
    const { storage } = this.#deps;
    const keys: Uint8Array[] = [];
    await storage.whenReadable();
    const keep = (key: Uint8Array) => void keys.push(key);
    const range = { ...jobRange(kind, jobNo), limit: this.#keysMax };
    await readRows(storage, range, { row: keep, damaged: keep });
    return keys;
  }

  async #commit(keys: readonly Uint8Array[]): Promise<void> {
    const batch = new StorageBatch();
    for (const key of keys) batch.delete(key);
    await this.#deps.storage.write(batch, { durability: 'synced' });
  }
}

// What `recv` returns: the latest value of each cell, until it is taken. One waiter at a time. A slow receiver
// loses the oldest seed and still gets the newer ones.
import { abortedError, SynclineError } from '@syncline/kernel';
import type { OverwriteBucket, RespBucket } from './storage-buckets.js';

const NS_PER_MS = 1_000_000n;
/** Seeds without cells take room too. */
const SEEDS_MAX = 64;

export class ReceivedBuckets {
  readonly #cellsMax: number;
  readonly #onDropped: (cellsCount: number) => void;
  readonly #seeds = new Map<bigint, Map<string, OverwriteBucket>>();
  #waiter: { resolve(): void; reject(error: SynclineError): void } | undefined;
  #cellsCount = 0;
  #isClosed = false;

  constructor(cellsMax: number, onDropped: (cellsCount: number) => void) {
    this.#cellsMax = cellsMax;
    this.#onDropped = onDropped;
  }

  /** An empty list counts too: a fetch of a seed that has no cells is answered. */
  put(seed: bigint, buckets: readonly OverwriteBucket[]): void {
    const cells = this.#seeds.get(seed) ?? new Map<string, OverwriteBucket>();
    this.#seeds.set(seed, cells);
    const before = cells.size;
    for (const bucket of buckets) cells.set(`${bucket.rowId}/${bucket.colId}`, bucket);
    this.#cellsCount += cells.size - before;
    const cellsCount = this.#cellsCount;
    this.#dropOldest(seed);
    if (this.#cellsCount < cellsCount) this.#onDropped(cellsCount - this.#cellsCount);
    this.#waiter?.resolve();
  }

  /** Waits until there is something, and takes all of it. */
  async take(signal?: AbortSignal): Promise<RespBucket[]> {
    if (this.#waiter !== undefined)
      throw new SynclineError(
        'conflict',
        'recv is already waiting; call it again when it has returned',
        {
          details: { reason: 'waiting' },
        },
      );
    if (this.#seeds.size === 0) await this.#arrival(signal);
    const all = [...this.#seeds].map(([seed, cells]) => ({
      seed,
      startUtcNs: seed * NS_PER_MS,
      updates: [...cells.values()],
    }));
    this.#seeds.clear();
    this.#cellsCount = 0;
    return all;
  }

  close(): void {
    this.#isClosed = true;
    this.#seeds.clear();
    this.#waiter?.reject(closedError());
  }

  async #arrival(signal: AbortSignal | undefined): Promise<void> {
    if (this.#isClosed) throw closedError();
    if (signal?.aborted === true) throw abortedError('recv', signal);
    let onAbort: (() => void) | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        this.#waiter = { resolve, reject };
        onAbort = () => signal && reject(abortedError('recv', signal));
        signal?.addEventListener('abort', onAbort);
      });
    } finally {
      this.#waiter = undefined;
      if (onAbort !== undefined) signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Other seeds first, from the lowest; then the longest unchanged cells of the one that just grew. */
  #dropOldest(grown: bigint): void {
    const others = [...this.#seeds.keys()].filter((seed) => seed !== grown);
    for (const seed of others.sort((left, right) => (left < right ? -1 : 1))) {
      if (this.#cellsCount <= this.#cellsMax && this.#seeds.size <= SEEDS_MAX) return;
      this.#cellsCount -= this.#seeds.get(seed)?.size ?? 0;
      this.#seeds.delete(seed);
    }
    const cells = this.#seeds.get(grown);
    for (const name of cells?.keys() ?? []) {
      if (this.#cellsCount <= this.#cellsMax) return;
      cells?.delete(name);
      this.#cellsCount -= 1;
    }
  }
}

function closedError(): SynclineError {
  return new SynclineError('closed', 'the storage service was closed');
}

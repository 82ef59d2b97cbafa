// Storage in memory: for tests, for `--memory`, and as a reference to compare others with.
//
// A write takes effect when it is called, so call order is the order of effects, and both durabilities mean the same:
// everything is gone with the process. Each read returns its own bytes.
import type { Clock } from '../clock.js';
import { SynclineError } from '../error.js';
import { kernelLimits } from '../limits.js';
import { createSystemClock } from '../system-clock.js';
import { findValue, type MemoryNode, type MemoryPiece, readPiece } from './memory-node.js';
import { MemoryTree } from './memory-tree.js';
import type {
  RangeOptions,
  Storage,
  StorageEntry,
  StorageHealth,
  StorageRange,
  StorageSnapshot,
} from './storage.js';
import type { StorageBatch } from './storage-batch.js';
import {
  isEmptyRange,
  planRange,
  type RangePlan,
  rangeOfBatches,
  throwIfAborted,
} from './storage-range.js';

export interface MemoryStorageDeps {
  /** Lets others run between the batches of a long range. */
  readonly clock: Pick<Clock, 'defer'>;
}

export function createMemoryStorage(
  deps: MemoryStorageDeps = { clock: createSystemClock() },
): Storage {
  return new MemoryStorage(deps);
}

class MemoryStorage implements Storage {
  readonly #deps: MemoryStorageDeps;
  readonly #tree = new MemoryTree();
  #isClosed = false;

  constructor(deps: MemoryStorageDeps) {
    this.#deps = deps;
  }

  get(key: Uint8Array): Uint8Array | undefined {
    this.#checkOpen();
    return valueAt(this.#tree.root, key);
  }

  range(options?: RangeOptions): StorageRange {
    const view = { check: () => this.#checkOpen(), root: () => this.#tree.freeze() };
    return rangeOf(this.#deps, planRange(options), view);
  }

  snapshot(): StorageSnapshot {
    this.#checkOpen();
    const root = this.#tree.freeze();
    let isClosed = false;
    const check = () => {
      this.#checkOpen();
      if (isClosed) throw new SynclineError('closed', 'the snapshot was closed');
    };
    const close = () => {
      isClosed = true;
    };
    return {
      get: (key) => {
        check();
        return valueAt(root, key);
      },
      range: (options) => rangeOf(this.#deps, planRange(options), { check, root: () => root }),
      close,
      [Symbol.dispose]: close,
    };
  }

  async write(batch: StorageBatch): Promise<void> {
    this.#checkOpen();
    for (const operation of batch.operations) {
      const key = textOf(operation.key);
      if (operation.kind === 'put') this.#tree.put(key, textOf(operation.value));
      else this.#tree.delete(key);
    }
  }

  /** Nothing in memory can be made more durable. */
  async secure(): Promise<void> {
    this.#checkOpen();
  }

  health(): StorageHealth {
    return { kind: this.#isClosed ? 'closed' : 'ok' };
  }

  async whenReadable(): Promise<void> {
    this.#checkOpen();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new SynclineError('closed', 'the memory store was closed');
  }
}

/** The source of a range. `root` is called once, when iteration starts; `check` before each batch. */
interface MemoryView {
  readonly check: () => void;
  readonly root: () => MemoryNode;
}

function rangeOf(deps: MemoryStorageDeps, plan: RangePlan, view: MemoryView): StorageRange {
  return rangeOfBatches(async function* () {
    view.check();
    const root = view.root();
    const query = {
      from: textOf(plan.from),
      to: plan.to && textOf(plan.to),
      reverse: plan.reverse,
    };
    const bytesMax = kernelLimits.rangeBatchBytesMax.value;
    let left = isEmptyRange(plan) ? 0 : plan.limit;
    while (left > 0) {
      view.check();
      throwIfAborted(plan.signal);
      const entriesMax = Math.min(left, kernelLimits.rangeBatchEntriesMax.value);
      const piece = readPiece(root, { ...query, entriesMax, bytesMax });
      const last = piece.keys.at(-1);
      if (last === undefined) return;
      yield entriesOf(piece);
      if (piece.keys.length < entriesMax && piece.bytes < bytesMax) return;
      left -= piece.keys.length;
      if (plan.reverse) query.to = last;
      else query.from = `${last}\0`; // the smallest possible next key
      await new Promise<void>((resolve) => deps.clock.defer(resolve));
    }
  });
}

function entriesOf({ keys, values }: MemoryPiece): readonly StorageEntry[] {
  return keys.map((key, place) => ({ key: bytesOf(key), value: bytesOf(values[place] as string) }));
}

function valueAt(root: MemoryNode, key: Uint8Array): Uint8Array | undefined {
  const value = findValue(root, textOf(key));
  return value === undefined ? undefined : bytesOf(value);
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

function bytesOf(text: string): Uint8Array {
  return Buffer.from(text, 'latin1');
}

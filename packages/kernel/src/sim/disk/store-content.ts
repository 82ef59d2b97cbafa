// The entries of a simulated store at one moment: sorted, and never changed once made, so that a snapshot is
// just a reference. Each batch copies the list of entries, which is cheap at the sizes that simulations use.
import type { StorageEntry } from '../../storage/storage.js';
import type { StorageOperation } from '../../storage/storage-batch.js';
import type { RangePlan } from '../../storage/storage-range.js';

export class StoreContent {
  static readonly empty = new StoreContent([]);
  readonly #entries: readonly StorageEntry[];

  private constructor(entries: readonly StorageEntry[]) {
    this.#entries = entries;
  }

  get(key: Uint8Array): Uint8Array | undefined {
    const { index, isFound } = this.#find(key);
    return isFound ? this.#entries[index]?.value : undefined;
  }

  /** The bytes of the operations become part of the content: pass copies. */
  apply(operations: readonly StorageOperation[]): StoreContent {
    const next = new StoreContent([...this.#entries]);
    const entries = next.#entries as StorageEntry[]; // still ours alone
    for (const operation of operations) {
      const { index, isFound } = next.#find(operation.key);
      if (operation.kind === 'delete') {
        if (isFound) entries.splice(index, 1);
      } else {
        entries.splice(index, isFound ? 1 : 0, { key: operation.key, value: operation.value });
      }
    }
    return next;
  }

  select({ from, to, reverse, limit }: RangePlan): readonly StorageEntry[] {
    const start = this.#find(from).index;
    const end = to === undefined ? this.#entries.length : this.#find(to).index;
    const selected = this.#entries.slice(start, Math.max(start, end));
    return (reverse ? selected.reverse() : selected).slice(0, limit);
  }

  /** The position of the key, or where it belongs. */
  #find(key: Uint8Array): { index: number; isFound: boolean } {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const order = Buffer.compare((this.#entries[middle] as StorageEntry).key, key);
      if (order === 0) return { index: middle, isFound: true };
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return { index: low, isFound: false };
  }
}

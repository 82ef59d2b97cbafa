// Range reads of a simulated store. The content is fixed when iteration starts; each batch takes time,
// so that writes really happen between two of them. An empty range takes time as well.
import { kernelLimits } from '../../limits.js';
import type { StorageEntry } from '../../storage/storage.js';
import { type RangePlan, throwIfAborted } from '../../storage/storage-range.js';
import type { DiskAccess } from './disk-access.js';
import type { StoreContent } from './store-content.js';

export interface SimRangeDeps {
  readonly disk: DiskAccess;
  /** The content to read, always the same. Throws when the store cannot be read any more. */
  readonly view: () => StoreContent;
}

export async function* readSimBatches(
  { disk, view }: SimRangeDeps,
  plan: RangePlan,
): AsyncGenerator<readonly StorageEntry[]> {
  const entries = view().select(plan);
  let start = 0;
  do {
    throwIfAborted(plan.signal);
    const end = batchEnd(entries, start);
    await disk.perform('read', 'range', view); // throws if it was closed in the meantime
    if (end > start) yield entries.slice(start, end).map(copied);
    start = end;
  } while (start < entries.length);
}

function batchEnd(entries: readonly StorageEntry[], start: number): number {
  const endMax = Math.min(entries.length, start + kernelLimits.rangeBatchEntriesMax.value);
  let bytes = 0;
  let end = start;
  while (end < endMax && bytes < kernelLimits.rangeBatchBytesMax.value) {
    bytes += (entries[end]?.key.length ?? 0) + (entries[end]?.value.length ?? 0);
    end += 1;
  }
  return end;
}

function copied(entry: StorageEntry): StorageEntry {
  return { key: entry.key.slice(), value: entry.value.slice() };
}

// What all stores share about ranges: the checked form of the options, and the two ways to iterate.
//
// K10  A range is [from, to) in the order of unsigned bytes, in either direction.
import { abortedError, SynclineError } from '../error.js';
import type { RangeOptions, StorageEntry, StorageRange } from './storage.js';

/** The options of a range, checked and with defaults. The bounds are copies: a caller may reuse its bytes. */
export interface RangePlan {
  readonly from: Uint8Array;
  /** Undefined: beyond the last key. */
  readonly to: Uint8Array | undefined;
  readonly reverse: boolean;
  readonly limit: number;
  readonly signal: AbortSignal | undefined;
}

export function planRange(options: RangeOptions = {}): RangePlan {
  const { from, to, reverse = false, limit = Number.POSITIVE_INFINITY, signal } = options;
  if (!(limit >= 0) || (limit !== Number.POSITIVE_INFINITY && !Number.isInteger(limit))) {
    throw new SynclineError(
      'invalid-argument',
      `the limit of a range must be an integer of at least 0, not ${limit}`,
      { details: { field: 'limit', value: limit } },
    );
  }
  return { from: new Uint8Array(from ?? []), to: to && new Uint8Array(to), reverse, limit, signal };
}

/** True when no key can be in the range, so that no store needs to be read. */
export function isEmptyRange({ from, to, limit }: RangePlan): boolean {
  return limit === 0 || (to !== undefined && Buffer.compare(from, to) >= 0);
}

/** Stores read many entries at a time; this also returns them one by one. */
export function rangeOfBatches(
  batches: () => AsyncGenerator<readonly StorageEntry[]>,
): StorageRange {
  return {
    batches,
    async *[Symbol.asyncIterator]() {
      for await (const batch of batches()) yield* batch;
    },
  };
}

/** Called before each batch, so that an abort ends a scan within one of them. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw abortedError('reading a range', signal);
}

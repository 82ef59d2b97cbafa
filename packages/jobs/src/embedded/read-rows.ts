// Reads the rows of a range and goes on behind damaged ones: each of them is told, and costs only its key.
//
// A row can be damaged twice over: the storage finds its own checksum wrong and ends the range with an error
// that names the key, or the row's seal is wrong and its decoder throws.
import { type StorageEntry, type StorageReads, SynclineError } from '@syncline/kernel';
import type { KeyRange } from './keys.js';

export interface RowVisitor {
  /** May throw `corrupt`. */
  row(key: Uint8Array, value: Uint8Array): void;
  damaged(key: Uint8Array, error: SynclineError): void;
}

/** With a limit: that many rows, damaged ones included. */
export async function readRows(
  reads: StorageReads,
  { from, to, limit }: KeyRange & { readonly limit?: number },
  visitor: RowVisitor,
): Promise<void> {
  let next = from;
  let left = limit ?? Number.POSITIVE_INFINITY;
  const rangeTo = (end: Uint8Array) => ({
    from: next,
    to: end,
    ...(limit !== undefined && { limit: left }),
  });
  const visit = (key: Uint8Array, value: Uint8Array) => {
    next = keyBehind(key);
    left -= 1;
    try {
      visitor.row(key, value);
    } catch (thrown) {
      if (!isCorrupt(thrown)) throw thrown;
      visitor.damaged(key, thrown);
    }
  };
  while (left > 0) {
    try {
      await visitRange(reads, rangeTo(to), visit);
      return;
    } catch (thrown) {
      const key = damagedKeyOf(thrown);
      if (!key || !isCorrupt(thrown)) throw thrown;
      await visitRange(reads, rangeTo(key), visit);
      if (left === 0) return;
      visitor.damaged(key, thrown);
      next = keyBehind(key);
      left -= 1;
    }
  }
}

/** As the storage reads them. Of a row that it finds damaged only the key is told; if `damaged` throws, that ends it. */
export async function* readBatches(
  reads: StorageReads,
  { from, to }: KeyRange,
  damaged: (key: Uint8Array, error: SynclineError) => Promise<void>,
): AsyncGenerator<readonly StorageEntry[]> {
  let next = from;
  for (;;) {
    try {
      for await (const entries of reads.range({ from: next, to }).batches()) {
        const last = entries.at(-1);
        if (last) next = keyBehind(last.key);
        yield entries;
      }
      return;
    } catch (thrown) {
      const key = damagedKeyOf(thrown);
      if (!key || !isCorrupt(thrown)) throw thrown;
      yield* reads.range({ from: next, to: key }).batches();
      await damaged(key, thrown);
      next = keyBehind(key);
    }
  }
}

async function visitRange(
  reads: StorageReads,
  range: KeyRange & { readonly limit?: number },
  visit: (key: Uint8Array, value: Uint8Array) => void,
): Promise<void> {
  for await (const entries of reads.range(range).batches()) {
    for (const { key, value } of entries) visit(key, value);
  }
}

export function isCorrupt(thrown: unknown): thrown is SynclineError {
  return thrown instanceof SynclineError && thrown.code === 'corrupt';
}

function damagedKeyOf(thrown: unknown): Uint8Array | undefined {
  if (!isCorrupt(thrown)) return undefined;
  const { keyHex } = thrown.details;
  const isWhole = typeof keyHex === 'string' && /^[0-9a-f]+$/.test(keyHex);
  return isWhole ? Buffer.from(keyHex, 'hex') : undefined;
}

/** The next key there can be. */
function keyBehind(key: Uint8Array): Uint8Array {
  const behind = new Uint8Array(key.length + 1);
  behind.set(key);
  return behind;
}

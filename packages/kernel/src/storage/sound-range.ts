// Reads a range past damaged entries. A storage ends a range at the first value whose checksum is wrong; for rows that do
// not depend on each other, the rest is still worth reading.
import { SynclineError } from '../error.js';
import type { StorageEntry, StorageReads } from './storage.js';

export interface SoundEntries {
  readonly entries: readonly StorageEntry[];
  readonly damaged: readonly DamagedEntry[];
}

export interface DamagedEntry {
  /** The key, as far as the error shows it: long ones are truncated, and all keys that start like it are skipped. */
  readonly key: Uint8Array;
  readonly isTruncated: boolean;
  readonly error: SynclineError;
}

export async function* readSound(
  reads: StorageReads,
  { from, to }: { readonly from: Uint8Array; readonly to: Uint8Array },
): AsyncGenerator<SoundEntries> {
  for (let next = from; ; ) {
    let found: DamagedEntry | undefined;
    try {
      for await (const entries of reads.range({ from: next, to }).batches()) {
        yield { entries, damaged: [] };
        next = keyAfter(entries.at(-1)?.key ?? next);
      }
      return;
    } catch (thrown) {
      found = damagedEntry(thrown);
      if (found === undefined) throw thrown;
    }
    // The entries before it are intact, but were in the same batch and not returned.
    for await (const entries of reads.range({ from: next, to: found.key }).batches())
      yield { entries, damaged: [] };
    yield { entries: [], damaged: [found] };
    const after = found.isTruncated ? keyAfterPrefix(found.key) : keyAfter(found.key);
    if (after === undefined) return;
    next = after;
  }
}

function damagedEntry(thrown: unknown): DamagedEntry | undefined {
  if (!(thrown instanceof SynclineError) || thrown.code !== 'corrupt') return undefined;
  const { keyHex } = thrown.details;
  const pairs = typeof keyHex === 'string' ? (keyHex.match(/[0-9a-f]{2}/g) ?? []) : [];
  const key = Uint8Array.from(pairs, (pair) => Number.parseInt(pair, 16));
  if (key.length === 0) return undefined;
  return { key, isTruncated: pairs.join('') !== keyHex, error: thrown };
}

/** The first key after this one. */
function keyAfter(key: Uint8Array): Uint8Array {
  const after = new Uint8Array(key.length + 1);
  after.set(key);
  return after;
}

/** The first key after all that start with these bytes. */
function keyAfterPrefix(prefix: Uint8Array): Uint8Array | undefined {
  const end = prefix.findLastIndex((byte) => byte < 0xff) + 1;
  if (end === 0) return undefined; // nothing comes after it
  const after = prefix.slice(0, end);
  after[end - 1] = (after[end - 1] ?? 0) + 1;
  return after;
}

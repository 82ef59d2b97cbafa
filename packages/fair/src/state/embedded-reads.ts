// Reads a range of the disk past damaged entries. A store ends a range at the first value whose checksum
// is wrong; but shared cells are independent, and a lost one only means that a flow is forgotten, so the rest
// is still read.
import { type Storage, type StorageEntry, SynclineError } from '@syncline/kernel';
import type { KeyRange } from './embedded-records.js';

export interface SoundEntries {
  readonly entries: readonly StorageEntry[];
  /** Keys of damaged entries, as far as the error shows them: it truncates long ones. */
  readonly corruptKeys: readonly Uint8Array[];
}

export async function* readSound(
  storage: Storage,
  { from, to }: KeyRange,
): AsyncGenerator<SoundEntries> {
  let next = from;
  for (;;) {
    let damage: Damage | undefined;
    try {
      for await (const entries of storage.range({ from: next, to }).batches()) {
        yield { entries, corruptKeys: [] };
        next = successor(entries.at(-1)?.key ?? next);
      }
      return;
    } catch (thrown) {
      damage = damageOf(thrown);
      if (damage === undefined) throw thrown;
    }
    // The entries before it are intact, but were in the same batch and not returned.
    for await (const entries of storage.range({ from: next, to: damage.start }).batches())
      yield { entries, corruptKeys: [] };
    yield { entries: [], corruptKeys: [damage.start] };
    next = damage.isCut ? successorOfPrefix(damage.start) : successor(damage.start);
  }
}

interface Damage {
  /** The key of the damaged entry, or its prefix. */
  readonly start: Uint8Array;
  readonly isCut: boolean;
}

function damageOf(thrown: unknown): Damage | undefined {
  if (!(thrown instanceof SynclineError) || thrown.code !== 'corrupt') return undefined;
  const { keyHex, keyBytes } = thrown.details;
  if (typeof keyHex !== 'string') return undefined;
  const start = Buffer.from(keyHex, 'hex'); // stops at the truncation mark
  return start.length === 0 ? undefined : { start, isCut: start.length !== keyBytes };
}

/** The first key behind this one. */
function successor(key: Uint8Array): Uint8Array {
  return Buffer.concat([key, Buffer.of(0)]);
}

/** The first key behind all that begin with these bytes. Ours are ASCII, so the last byte can be raised. */
function successorOfPrefix(prefix: Uint8Array): Uint8Array {
  const raised = Buffer.from(prefix);
  raised[raised.length - 1] = (raised.at(-1) ?? 0) + 1;
  return raised;
}

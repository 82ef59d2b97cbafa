// The value of `f`: up to where the journal is folded, and what the folded sets add up to.
//
// It is written with every fold, in the same batch, so it is true at any moment that a crash can leave.
import { type StorageReads, SynclineError } from '@syncline/kernel';
import { readUint32, readUint64, writeUint32, writeUint64 } from './big-endian.js';
import { foldKey } from './storage-keys.js';

export interface FoldRecord {
  /** The last journal number in it; 0 before the first. */
  readonly number: number;
  readonly liveDots: number;
  /** The xor of the hashes of all live dots, as two words. */
  readonly xor: readonly [number, number];
  /** Sets that are not empty. */
  readonly setsCount: number;
}

const FORMAT = 1;
const SIZE = 33;

/** Of a store that was never folded. */
export function newFold(): FoldRecord {
  return { number: 0, liveDots: 0, xor: [0, 0], setsCount: 0 };
}

export function encodeFold(fold: FoldRecord): Uint8Array {
  const bytes = new Uint8Array(SIZE);
  writeUint64(bytes, 0, fold.number);
  writeUint64(bytes, 8, fold.liveDots);
  writeUint32(bytes, 16, fold.xor[0]);
  writeUint32(bytes, 20, fold.xor[1]);
  writeUint64(bytes, 24, fold.setsCount);
  bytes[32] = FORMAT;
  return bytes;
}

export function readFold(storage: Pick<StorageReads, 'get'>): FoldRecord {
  const bytes = storage.get(foldKey);
  if (bytes === undefined) return newFold();
  const format = bytes.at(-1) ?? 0;
  if (format > FORMAT) {
    throw new SynclineError(
      'conflict',
      `a newer version of Syncline wrote this data, in format ${format}; this one reads format ${FORMAT}. ` +
        'Start the newer version, or begin with an empty directory.',
      { details: { reason: 'format', stored: format, known: FORMAT } },
    );
  }
  if (bytes.length !== SIZE || format !== FORMAT) {
    throw new SynclineError(
      'corrupt',
      `the fold record has ${bytes.length} bytes and format ${format}, not ${SIZE} and ${FORMAT}. Something else wrote to this directory`,
    );
  }
  return {
    number: readUint64(bytes, 0),
    liveDots: readUint64(bytes, 8),
    xor: [readUint32(bytes, 16), readUint32(bytes, 20)],
    setsCount: readUint64(bytes, 24),
  };
}

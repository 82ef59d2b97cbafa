// The values of `e`, `d` and `s`: the dots of an element, the element of a dot, a cardinality.
import { DOT_BYTES, type Dot, readDot, SynclineError, writeDot } from '@syncline/kernel';
import { readUint64, writeUint16, writeUint32, writeUint64 } from './big-endian.js';
import { copySlice, type Slice } from './storage-keys.js';

/** 12 bytes each. They must be sorted. */
export function encodeDots(dots: readonly Dot[]): Uint8Array {
  const bytes = new Uint8Array(dots.length * DOT_BYTES);
  const view = new DataView(bytes.buffer);
  for (const [index, dot] of dots.entries()) writeDot(view, index * DOT_BYTES, dot);
  return bytes;
}

/** The same for one dot, as the words that a row holds. */
export function encodeDotWords(actor: number, high: number, low: number): Uint8Array {
  const bytes = new Uint8Array(DOT_BYTES);
  writeUint32(bytes, 0, actor);
  writeUint32(bytes, 4, high);
  writeUint32(bytes, 8, low);
  return bytes;
}

export function decodeDots(bytes: Uint8Array): readonly Dot[] {
  if (bytes.length === 0 || bytes.length % DOT_BYTES !== 0) {
    throw new SynclineError(
      'corrupt',
      `the dots of an element take ${bytes.length} bytes, not a multiple of ${DOT_BYTES}. The storage is damaged`,
    );
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const dots: Dot[] = [];
  for (let offset = 0; offset < bytes.length; offset += DOT_BYTES) dots.push(readDot(view, offset));
  return dots;
}

/** The value of `d`: lp(set) member. */
export function encodeElement(set: Uint8Array, member: Slice): Uint8Array {
  const bytes = new Uint8Array(2 + set.length + member.end - member.start);
  writeUint16(bytes, 0, set.length);
  bytes.set(set, 2);
  copySlice(bytes, 2 + set.length, member);
  return bytes;
}

/** The value of `s`. */
export function encodeCardinality(cardinality: number): Uint8Array {
  const bytes = new Uint8Array(8);
  writeUint64(bytes, 0, cardinality);
  return bytes;
}

/** A set without a value is empty. */
export function decodeCardinality(bytes: Uint8Array | undefined): number {
  return bytes === undefined ? 0 : readUint64(bytes, 0);
}

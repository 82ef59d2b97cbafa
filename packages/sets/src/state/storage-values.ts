// The values of `e`, `d` and `s`: the dots of an element, the element of a dot, a cardinality.
import { DOT_BYTES, type Dot, readDot, SynclineError, writeDot } from '@syncline/kernel';
import { readUint64, writeUint64 } from './big-endian.js';
import { copySlice, type Slice, writeName } from './storage-keys.js';

/** 12 bytes each. They must be sorted. */
export function encodeDots(dots: readonly Dot[]): Uint8Array {
  const bytes = new Uint8Array(dots.length * DOT_BYTES);
  const view = new DataView(bytes.buffer);
  for (const [index, dot] of dots.entries()) writeDot(view, index * DOT_BYTES, dot);
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
  const bytes = new Uint8Array(elementValueBytes(set, member));
  writeElement(bytes, 0, set, member);
  return bytes;
}

export function elementValueBytes(set: Uint8Array, member: Slice): number {
  return 2 + set.length + member.end - member.start;
}

/** Writes the value of `d` at a place in larger bytes. */
export function writeElement(into: Uint8Array, at: number, set: Uint8Array, member: Slice): void {
  writeName(into, at, set);
  copySlice(into, at + 2 + set.length, member);
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

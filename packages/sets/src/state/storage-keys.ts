// Where everything lies in the storage: the keys, by their first byte.
//
//   e lp(set) h48 member   the dots of an element        d actor counter   the element of a live dot
//   s h48 set              cardinality, absent when 0    v actor           counter: the folded version
//   f                      the fold                      j number          a record of the journal
//   n                      who this node is              y                 the second of the last sync
//
// Integers are big endian, so that keys sort like their numbers; lp(x) is a u16 length and the bytes.
// h48 is the position of a member or of a name in every scan: 48 bits of a keyed hash.
import { readUint32, readUint64, writeUint16, writeUint32, writeUint64 } from './big-endian.js';
import type { DotWords } from './row-dots.js';

/** The first byte of a key. */
export const KeyKind = {
  element: 0x65,
  dot: 0x64,
  set: 0x73,
  version: 0x76,
  fold: 0x66,
  journal: 0x6a,
  identity: 0x6e,
  sync: 0x79,
} as const;

/** Bytes of a name or of a member that lie in a larger buffer. */
export interface Slice {
  readonly buffer: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/** The upper 32 and the lower 16 of the 48 bits of a position. Signed or not makes no difference. */
export interface Position {
  readonly high: number;
  readonly low: number;
}

/** An element as the storage names it. */
export interface StoredElement {
  readonly set: Uint8Array;
  readonly position: Position;
  readonly member: Slice;
}

/** Keys from `from` on and before `to`. */
export interface KeyRange {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

const POSITION_BYTES = 6;
export const DOT_KEY_BYTES = 13;
const LOOP_BYTES_MAX = 64;
const FIRST: Position = { high: 0, low: 0 };

export const foldKey: Uint8Array = Uint8Array.of(KeyKind.fold);
export const identityKey: Uint8Array = Uint8Array.of(KeyKind.identity);
export const syncKey: Uint8Array = Uint8Array.of(KeyKind.sync);

export function elementKey(set: Uint8Array, position: Position, member: Slice): Uint8Array {
  const element = { set, position, member };
  const key = new Uint8Array(elementKeyBytes(element));
  writeElementKey(key, 0, element);
  return key;
}

export function elementKeyBytes({ set, member }: StoredElement): number {
  return elementMemberStart(set) + member.end - member.start;
}

/** Writes the key of an element at a place in larger bytes. */
export function writeElementKey(into: Uint8Array, at: number, element: StoredElement): void {
  const { set, position, member } = element;
  into[at] = KeyKind.element;
  writeName(into, at + 1, set);
  writePosition(into, at + elementPositionStart(set), position);
  copySlice(into, at + elementMemberStart(set), member);
}

/** Where the position stands in the key of an element of this set. */
export function elementPositionStart(set: Uint8Array): number {
  return 3 + set.length;
}

/** Where the member stands in the key of an element of this set. */
export function elementMemberStart(set: Uint8Array): number {
  return elementPositionStart(set) + POSITION_BYTES;
}

/** All elements of a set from a position on, in the order of positions: [from, to). */
export function elementRange(set: Uint8Array, position: Position = FIRST): KeyRange {
  const from = new Uint8Array(elementMemberStart(set));
  from[0] = KeyKind.element;
  writeUint16(from, 1, set.length);
  from.set(set, 3);
  const to = behind(from.subarray(0, elementPositionStart(set)));
  writePosition(from, elementPositionStart(set), position);
  return { from, to };
}

export function setKey(name: Uint8Array, position: Position): Uint8Array {
  const key = new Uint8Array(SET_NAME_START + name.length);
  key[0] = KeyKind.set;
  writePosition(key, 1, position);
  key.set(name, SET_NAME_START);
  return key;
}

/** Where the name stands in the key of a set. */
export const SET_NAME_START = 1 + POSITION_BYTES;

export function dotKey(actor: number, counterHigh: number, counterLow: number): Uint8Array {
  const key = new Uint8Array(DOT_KEY_BYTES);
  writeDotKey(key, 0, { actor, high: counterHigh, low: counterLow });
  return key;
}

/** Writes the key of a dot at a place in larger bytes. */
export function writeDotKey(into: Uint8Array, at: number, dot: DotWords): void {
  into[at] = KeyKind.dot;
  writeDotWords(into, at + 1, dot);
}

/** Writes a dot, 12 bytes, from the words that a row holds. */
export function writeDotWords(into: Uint8Array, at: number, dot: DotWords): void {
  writeUint32(into, at, dot.actor);
  writeUint32(into, at + 4, dot.high);
  writeUint32(into, at + 8, dot.low);
}

export function versionKey(actor: number): Uint8Array {
  const key = new Uint8Array(5);
  key[0] = KeyKind.version;
  writeUint32(key, 1, actor);
  return key;
}

export function journalKey(number: number): Uint8Array {
  const key = new Uint8Array(9);
  key[0] = KeyKind.journal;
  writeUint64(key, 1, number);
  return key;
}

/** The number in the key of a journal record. */
export function journalNumberOf(key: Uint8Array): number {
  return readUint64(key, 1);
}

/** All keys of a kind: [from, to). */
export function kindRange(kind: number): KeyRange {
  return { from: Uint8Array.of(kind), to: Uint8Array.of(kind + 1) };
}

/** lp(name). */
export function writeName(into: Uint8Array, at: number, name: Uint8Array): void {
  writeUint16(into, at, name.length);
  if (name.length > LOOP_BYTES_MAX) into.set(name, at + 2);
  else for (let index = 0; index < name.length; index += 1) into[at + 2 + index] = name[index] ?? 0;
}

function writePosition(bytes: Uint8Array, at: number, { high, low }: Position): void {
  writeUint32(bytes, at, high);
  writeUint16(bytes, at + 4, low);
}

export function readPosition(bytes: Uint8Array, at: number): Position {
  return {
    high: readUint32(bytes, at) | 0,
    low: ((bytes[at + 4] ?? 0) << 8) | (bytes[at + 5] ?? 0),
  };
}

/** The first key behind all that begin with this prefix, whose first byte is a kind and so below 0xff. */
function behind(prefix: Uint8Array): Uint8Array {
  const last = prefix.findLastIndex((byte) => byte < 0xff);
  const next = prefix.slice(0, last + 1);
  next[last] = (next[last] ?? 0) + 1;
  return next;
}

/** Members are mostly short, and then a loop beats a view with a native copy. */
export function copySlice(into: Uint8Array, at: number, { buffer, start, end }: Slice): void {
  if (end - start > LOOP_BYTES_MAX) {
    into.set(buffer.subarray(start, end), at);
    return;
  }
  for (let from = start, to = at; from < end; from += 1, to += 1) into[to] = buffer[from] ?? 0;
}

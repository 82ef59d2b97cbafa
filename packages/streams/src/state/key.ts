// Keys: which values are valid, their bytes, their order, and their key groups.
//
// Keys are JavaScript values and compare as such: 1, 1n and '1' are three keys. Their encoding starts with a tag, so
// their bytes differ too, and the bytes of numbers sort like the numbers. Byte arrays are not valid keys, since two
// equal ones are different objects; encode them as a string.
//
// X1  Different keys have different bytes, and compareKeys is the order of those bytes.
// X2  A key's group is murmur3-x86-32 of its bytes with seed 0, modulo the number of groups.
import { murmur3x86x32 } from '@syncline/kernel';
import { streamsLimits } from '../limits.js';
import type { ByteReader } from '../snapshot/byte-reader.js';
import { ByteWriter } from '../snapshot/byte-writer.js';
import { badRecord, limitExceeded } from './state-error.js';

/** A safe integer, a bigint of up to 32 bytes, or a well-formed string of up to 1 KiB in UTF-8. */
export type Key = string | number | bigint;

/** Name of the hash that assigns keys to groups; stored with the data. */
export const KEY_HASH = 'murmur3-32/1';
export const KEY_GROUPS_DEFAULT = 128;

const TAG = { number: 2, bigint: 3, string: 4 } as const;
const SIGN_BIT = 0x8000_0000;
const HIGH_WORD = 2 ** 32;
/** Node has it, but the types of ES2023 do not. */
interface WellFormedString {
  isWellFormed(): boolean;
}
const BIGINT_END = 1n << BigInt(8 * streamsLimits.bigintBytesMax.value);
const CHARACTERS_SHOWN = 64;

/** Throws `bad-record` for an invalid key, and `limit-exceeded` for one that is too long. */
export function checkKey(key: unknown): void {
  switch (typeof key) {
    case 'number':
      if (!Number.isSafeInteger(key))
        throw badRecord(`key ${key} is not a safe integer; use a string or a bigint`);
      return;
    case 'bigint':
      checkBigint(key, 'key');
      return;
    case 'string':
      checkText(key, 'keyBytesMax', 'key');
      return;
    default:
      throw badRecord(`a key must be a string, a number or a bigint, not ${kindOf(key)}`);
  }
}

export function checkBigint(value: bigint, what: string): void {
  if (value > -BIGINT_END && value < BIGINT_END) return;
  const { value: bytesMax } = streamsLimits.bigintBytesMax;
  throw limitExceeded('bigintBytesMax', `${what} has more than ${bytesMax} bytes`);
}

export function checkText(
  text: string,
  limit: 'keyBytesMax' | 'originBytesMax',
  what: string,
): void {
  if (!isWellFormed(text)) {
    throw badRecord(`${what} ${showKey(text)} has a lone surrogate, which UTF-8 cannot encode`);
  }
  const { value: bytesMax } = streamsLimits[limit];
  if (text.length * 3 <= bytesMax) return;
  const bytes = Buffer.byteLength(text);
  if (bytes <= bytesMax) return;
  throw limitExceeded(limit, `${what} has ${bytes} bytes, more than the limit of ${bytesMax}`);
}

export function isWellFormed(text: string): boolean {
  return (text as string & WellFormedString).isWellFormed();
}

/** Appends the bytes of a checked key. */
export function writeKey(writer: ByteWriter, key: Key): void {
  switch (typeof key) {
    case 'number': {
      const high = Math.floor(key / HIGH_WORD);
      writer.u8(TAG.number);
      writer.u32((high ^ SIGN_BIT) >>> 0);
      writer.u32(key - high * HIGH_WORD);
      return;
    }
    case 'bigint':
      writer.u8(TAG.bigint);
      writeBigint(writer, key);
      return;
    default:
      writer.u8(TAG.string);
      writer.utf8(key);
  }
}

/** Reads a key that takes `length` bytes. */
export function readKey(reader: ByteReader, length: number): Key {
  const start = reader.at;
  const lengthMax = 1 + streamsLimits.keyBytesMax.value;
  if (length < 1 || length > lengthMax) {
    reader.fail(`a key of 1 to ${lengthMax} bytes`, `${length} bytes`);
  }
  const tag = reader.u8();
  if (tag === TAG.string) return reader.utf8(length - 1);
  if (tag !== TAG.number && tag !== TAG.bigint) reader.fail('a key', `tag ${tag}`, start);
  const key = tag === TAG.number ? readNumber(reader) : readBigint(reader);
  if (reader.at !== start + length) {
    reader.fail(`a key of ${reader.at - start} bytes`, `${length} bytes`, start);
  }
  return key;
}

function readNumber(reader: ByteReader): number {
  const start = reader.at;
  const key = ((reader.u32() ^ SIGN_BIT) | 0) * HIGH_WORD + reader.u32();
  if (!Number.isSafeInteger(key)) reader.fail('a safe integer', String(key), start);
  return key;
}

/** Sign (0 negative, 1 not), length, magnitude without leading zeros. */
export function writeBigint(writer: ByteWriter, value: bigint): void {
  const magnitude = value < 0n ? -value : value;
  const digits = magnitude === 0n ? '' : magnitude.toString(16);
  const bytes = Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex');
  writer.u8(value < 0n ? 0 : 1);
  writer.u8(bytes.length);
  writer.bytes(bytes);
}

export function readBigint(reader: ByteReader): bigint {
  const start = reader.at;
  const sign = reader.u8();
  const length = reader.u8();
  if (sign > 1) reader.fail('sign 0 or 1', String(sign), start);
  if (length > streamsLimits.bigintBytesMax.value) {
    reader.fail(`at most ${streamsLimits.bigintBytesMax.value} bytes`, String(length), start + 1);
  }
  const bytes = reader.bytes(length);
  if (bytes[0] === 0) reader.fail('a number without leading zeros', 'a zero byte', start + 2);
  if (length === 0) return sign === 1 ? 0n : reader.fail('sign 1 for zero', 'sign 0', start);
  const magnitude = BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  return sign === 1 ? magnitude : -magnitude;
}

/** The group of a key, given its bytes. */
export function keyGroupOf(keyBytes: Uint8Array, keyGroups: number): number {
  return murmur3x86x32(keyBytes) % keyGroups;
}

const scratch = new ByteWriter();

/** The group of a checked key. */
export function groupOf(key: Key, keyGroups: number): number {
  scratch.clear();
  writeKey(scratch, key);
  return murmur3x86x32(scratch.buffer, 0, scratch.length) % keyGroups;
}

/** Keeps rank * length + index exact, even when it is divided by length again. */
const PACKED_END = 2 ** 50;

/** The indexes of the keys in ascending key order. Equal keys keep their order. */
export function keyOrder(keys: readonly Key[]): Uint32Array {
  const { length } = keys;
  const compare = (left: number, right: number) =>
    compareKeys(keys[left] as Key, keys[right] as Key);
  const order = new Uint32Array(length);
  // Sorting numbers without a comparison function is ten times as fast.
  const packed = ranksOf(keys, PACKED_END / Math.max(length, 1));
  if (packed === undefined) {
    for (let at = 0; at < length; at += 1) order[at] = at;
    return order.sort(compare);
  }
  for (let at = 0; at < length; at += 1) packed[at] = (packed[at] as number) * length + at;
  packed.sort();
  let runStart = 0;
  let runRank = -1;
  for (let at = 0; at < length; at += 1) {
    const rank = Math.floor((packed[at] as number) / length);
    order[at] = (packed[at] as number) - rank * length;
    if (rank === runRank) continue;
    if (at - runStart > 1) order.subarray(runStart, at).sort(compare);
    runStart = at;
    runRank = rank;
  }
  if (length - runStart > 1) order.subarray(runStart).sort(compare);
  return order;
}

/** Integers below `end` in the order of the keys; different keys may share one. Undefined if there are none. */
function ranksOf(keys: readonly Key[], end: number): Float64Array | undefined {
  const [first] = keys;
  if (typeof first === 'number') return ranksOfNumbers(keys, end);
  return typeof first === 'string' ? ranksOfTexts(keys, first, end) : undefined;
}

function ranksOfNumbers(keys: readonly Key[], end: number): Float64Array | undefined {
  let lowest = Number.POSITIVE_INFINITY;
  let highest = Number.NEGATIVE_INFINITY;
  for (const key of keys) {
    if (typeof key !== 'number') return undefined;
    if (key < lowest) lowest = key;
    if (key > highest) highest = key;
  }
  if (highest - lowest >= end) return undefined;
  const ranks = new Float64Array(keys.length);
  for (let at = 0; at < keys.length; at += 1) ranks[at] = (keys[at] as number) - lowest;
  return ranks;
}

/** As many characters as fit, starting after the common prefix. */
function ranksOfTexts(keys: readonly Key[], first: string, end: number): Float64Array | undefined {
  let common = first.length;
  for (const key of keys) {
    if (typeof key !== 'string') return undefined;
    let at = 0;
    while (at < common && key.charCodeAt(at) === first.charCodeAt(at)) at += 1;
    common = at;
  }
  const characters = Math.floor(Math.log2(end) / 8);
  const ranks = new Float64Array(keys.length);
  for (let at = 0; at < keys.length; at += 1) {
    const key = keys[at] as string;
    let rank = 0;
    for (let place = common; place < common + characters; place += 1) {
      const unit = place < key.length ? key.charCodeAt(place) : 0;
      if (unit > 0xff) return undefined;
      rank = rank * 0x100 + unit;
    }
    ranks[at] = rank;
  }
  return ranks;
}

/** The order of the keys' bytes, without encoding them. */
export function compareKeys(left: Key, right: Key): number {
  if (typeof left === 'string' && typeof right === 'string') return compareText(left, right);
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  if (typeof left === 'bigint' && typeof right === 'bigint') return compareBigintBytes(left, right);
  return tagOf(left) - tagOf(right);
}

/** The order of the texts' UTF-8 bytes, which is that of their code points. */
export function compareText(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const leftUnit = left.charCodeAt(index);
    const rightUnit = right.charCodeAt(index);
    if (leftUnit !== rightUnit) return rankOf(leftUnit) - rankOf(rightUnit);
  }
  return left.length - right.length;
}

/** Surrogates encode the highest code points, although some code units are higher than theirs. */
function rankOf(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x1_0000 : unit;
}

/** Negative numbers first; within a sign by magnitude, so -1 comes before -2. */
function compareBigintBytes(left: bigint, right: bigint): number {
  if (left === right) return 0;
  const isLess = left < 0n && right < 0n ? left > right : left < right;
  return isLess ? -1 : 1;
}

function tagOf(key: Key): number {
  return typeof key === 'number' ? TAG.number : typeof key === 'bigint' ? TAG.bigint : TAG.string;
}

/** A key for a message: `"user-1"`, `42`, `42n`; long ones are truncated. */
export function showKey(key: Key): string {
  if (typeof key === 'number') return String(key);
  if (typeof key === 'bigint') return `${key}n`;
  const cut = key.length > CHARACTERS_SHOWN ? `${key.slice(0, CHARACTERS_SHOWN)}…` : key;
  return JSON.stringify(cut);
}

export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : typeof value;
}

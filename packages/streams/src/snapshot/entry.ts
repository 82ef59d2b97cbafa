// One entry: a key with its value or tombstone, encoded the same way in snapshots and in the embedded store.
//
//   entry = u8 flags (1 = tombstone) · varint codec version · varint n · key · version · varint n · value
//
// X7  Reading an entry returns what was written, or throws.
import { SynclineError } from '@syncline/kernel';
import { crc32 } from '@syncline/kernel/node';
import { checkLength } from '../state/codec.js';
import { type Key, readKey, showKey, writeKey } from '../state/key.js';
import { corrupt, inState, tooNew } from '../state/state-error.js';
import type { StateSchema } from '../state/state-schema.js';
import type { ByteReader } from './byte-reader.js';
import type { ByteWriter } from './byte-writer.js';

export interface Entry<V, Ver> {
  readonly key: Key;
  /** Undefined for a tombstone. */
  readonly value: V | undefined;
  readonly version: Ver;
}

export interface ReadEntry<V, Ver> extends Entry<V, Ver> {
  /** Offsets of the entry in the input. */
  readonly start: number;
  readonly end: number;
  /** Offsets of its key. */
  readonly keyStart: number;
  readonly keyEnd: number;
  /** Version of the codec that wrote the value. */
  readonly codecVersion: number;
}

const TOMBSTONE = 1;
/** In segments only: the key no longer has a value or a tombstone. */
export const REMOVED = 2;
const NO_BYTES = new Uint8Array(0);

/** Appends an entry; without a value, a tombstone. Throws `bad-record` or `limit-exceeded` if the codec refuses the value. */
export function writeEntry<V, Ver>(
  writer: ByteWriter,
  schema: StateSchema<V, Ver>,
  key: Key,
  value: V | undefined,
  version: Ver,
): void {
  const encoded = value === undefined ? NO_BYTES : encodeValue(schema, key, value);
  writer.u8(value === undefined ? TOMBSTONE : 0);
  writer.varint(schema.codec.version);
  const keyStart = writer.beginSized();
  writeKey(writer, key);
  writer.endSized(keyStart);
  schema.versions.write(writer, version);
  writer.varint(encoded.length);
  writer.bytes(encoded);
}

/** Appends a marker for a removed key. Segments need one; a snapshot just omits the key. */
export function writeRemoval(writer: ByteWriter, key: Key): void {
  writer.u8(REMOVED);
  const keyStart = writer.beginSized();
  writeKey(writer, key);
  writer.endSized(keyStart);
}

export function encodeValue<V, Ver>(schema: StateSchema<V, Ver>, key: Key, value: V): Uint8Array {
  try {
    const encoded = schema.codec.encode(value);
    checkLength(encoded.length, schema.valueBytesMax);
    return encoded;
  } catch (thrown) {
    throw inState(schema.uid, showKey(key), thrown);
  }
}

export function readEntry<V, Ver>(
  reader: ByteReader,
  schema: StateSchema<V, Ver>,
): ReadEntry<V, Ver> {
  const start = reader.at;
  const flags = reader.u8();
  if (flags > TOMBSTONE) reader.fail('flags 0 or 1', String(flags), start);
  const codecVersion = reader.varint();
  if (codecVersion > schema.codec.version) {
    throw tooNew(
      `codec "${schema.codec.id}" of ${reader.source}`,
      codecVersion,
      schema.codec.version,
    );
  }
  const keyLength = reader.varint();
  const keyStart = reader.at;
  const key = readKey(reader, keyLength);
  const keyEnd = reader.at;
  const version = schema.versions.read(reader);
  const valueStart = reader.at;
  const valueLength = reader.varint();
  const { valueBytesMax } = schema;
  if (valueLength > valueBytesMax) {
    reader.fail(`a value of at most ${valueBytesMax} bytes`, `${valueLength} bytes`, valueStart);
  }
  const encoded = reader.bytes(valueLength);
  if (flags === TOMBSTONE && encoded.length > 0) {
    reader.fail('a tombstone without a value', `${encoded.length} bytes`, valueStart);
  }
  const value =
    flags === TOMBSTONE ? undefined : decodeValue(schema, { encoded, codecVersion, key }, reader);
  return { key, value, version, start, end: reader.at, keyStart, keyEnd, codecVersion };
}

function decodeValue<V, Ver>(
  { codec, uid }: StateSchema<V, Ver>,
  {
    encoded,
    codecVersion,
    key,
  }: { readonly encoded: Uint8Array; readonly codecVersion: number; readonly key: Key },
  reader: ByteReader,
): V {
  try {
    const value = codec.decode(encoded, codecVersion);
    if (value !== undefined) return value;
  } catch (thrown) {
    if (thrown instanceof SynclineError && thrown.code !== 'corrupt')
      throw inState(uid, showKey(key), thrown);
    throw damagedValue(thrown);
  }
  throw damagedValue();

  function damagedValue(cause?: unknown): SynclineError {
    const damage = {
      offset: reader.at - encoded.length,
      expected: `a value of codec "${codec.id}" for key ${showKey(key)}`,
      found: `${encoded.length} bytes that it cannot decode`,
    };
    return corrupt(reader.source, damage, cause);
  }
}

/** The checksum stored with an entry outside of blocks. */
export function entryChecksum(entry: Uint8Array): number {
  return crc32(entry);
}

// Items that `reorder` holds back: how they are stored, and the order in which they are released.
import { ByteReader } from '../snapshot/byte-reader.js';
import { ByteWriter } from '../snapshot/byte-writer.js';
import type { Codec } from '../state/codec.js';
import { compareText } from '../state/key.js';
import type { VersionType } from '../state/version.js';

/** An item waiting for its version to be sealed. */
export interface Held {
  readonly version: unknown;
  readonly origin: string;
  readonly epoch: number;
  readonly round: number;
  readonly index: number;
  readonly timeMs: number | undefined;
  readonly item: unknown;
}

/** Encodes the held items of one key, each with its logical time. */
export function heldCodec(
  values: Codec<unknown>,
  versions: VersionType<unknown>,
): Codec<readonly Held[]> {
  const writer = new ByteWriter();
  return {
    id: `held ${versions.kind} of ${values.id}`,
    version: values.version,
    encode(list) {
      writer.clear();
      writer.varint(list.length);
      for (const { version, origin, epoch, round, index, timeMs, item } of list) {
        versions.write(writer, version);
        const start = writer.beginSized();
        writer.utf8(origin);
        writer.endSized(start);
        for (const number of [epoch, round, index]) writer.i64(number);
        writer.u8(timeMs === undefined ? 0 : 1);
        writer.i64(timeMs ?? 0);
        const bytes = values.encode(item);
        writer.varint(bytes.length);
        writer.bytes(bytes);
      }
      return writer.view();
    },
    decode(bytes, codecVersion) {
      const reader = new ByteReader('held items', bytes);
      return Array.from({ length: reader.varint() }, () => {
        const version = versions.read(reader);
        const origin = reader.utf8(reader.varint());
        const [epoch, round, index] = [reader.i64(), reader.i64(), reader.i64()];
        const hasTime = reader.u8() === 1;
        const time = reader.i64();
        const item = values.decode(reader.bytes(reader.varint()), codecVersion);
        return { version, origin, epoch, round, index, timeMs: hasTime ? time : undefined, item };
      });
    },
  };
}

export function compareHeld(versions: VersionType<unknown>, left: Held, right: Held): number {
  return (
    versions.compare(left.version, right.version) ||
    compareText(left.origin, right.origin) ||
    left.epoch - right.epoch ||
    left.round - right.round ||
    left.index - right.index
  );
}

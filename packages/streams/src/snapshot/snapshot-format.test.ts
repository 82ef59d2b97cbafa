// Format 1, byte by byte. `plainSnapshot` is written from the description of the format alone and shares
// no code with the encoder.
import { crc32 } from 'node:zlib';
import { murmur3x86x32 } from '@syncline/kernel';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { memoryState } from '../memory/memory-state.js';
import { stringCodec } from '../state/codec.js';
import { aggregate, versioned } from '../state/state-backend.js';
import { SnapshotReader } from './snapshot-file.js';

interface PlainEntry {
  readonly key: string;
  /** Undefined is a tombstone. */
  readonly value: string | undefined;
  readonly version: number;
}

const u = (value: number, bytes: number) => {
  const buffer = Buffer.alloc(8);
  buffer.writeBigUInt64BE(BigInt(value));
  return buffer.subarray(8 - bytes);
};
const i64 = (value: number) => {
  const buffer = Buffer.alloc(8);
  buffer.writeBigInt64BE(BigInt(value));
  return buffer;
};
const varint = (value: number): Buffer =>
  value < 128 ? u(value, 1) : Buffer.concat([u((value % 128) + 128, 1), varint(value >> 7)]);
const withCrc = (bytes: Buffer) => Buffer.concat([bytes, u(crc32(bytes), 4)]);

function plainSnapshot(entries: readonly PlainEntry[], keyGroups: number, flags = 0): Buffer {
  const header = JSON.stringify({
    kind: 'versioned',
    versionKind: 'number',
    codec: { id: 'string', version: 1 },
    keyGroups,
    hash: 'murmur3-32/1',
  });
  const head = withCrc(
    Buffer.concat([
      Buffer.from('SYNCSNAP'),
      ...[u(1, 2), u(flags, 2), u(header.length, 4)],
      Buffer.from(header),
    ]),
  );
  const groups = new Map<number, { key: Buffer; bytes: Buffer }[]>();
  for (const { key: text, value, version } of entries) {
    const key = Buffer.concat([u(4, 1), Buffer.from(text)]);
    const valueBytes = Buffer.from(value ?? '');
    const bytes = Buffer.concat([
      ...[u(value === undefined ? 1 : 0, 1), varint(1), varint(key.length), key],
      ...[i64(version), varint(valueBytes.length), valueBytes],
    ]);
    const group = murmur3x86x32(key) % keyGroups;
    groups.set(group, [...(groups.get(group) ?? []), { key, bytes }]);
  }
  const blocks = [...groups]
    .sort(([left], [right]) => left - right)
    .flatMap(([group, members]) => {
      const sorted = members.sort((left, right) => Buffer.compare(left.key, right.key));
      return packed(sorted.map(({ bytes }) => bytes)).map((payload) =>
        withCrc(
          Buffer.concat([
            ...[Buffer.from('B'), u(0, 2), u(group, 2), u(payload.length, 4)],
            ...[u(Buffer.concat(payload).length, 4), ...payload],
          ]),
        ),
      );
    });
  const end = Buffer.concat([u(blocks.length, 8), u(entries.length, 8)]);
  const crcs = blocks.map((block) => block.subarray(-4));
  const endCrc = u(crc32(Buffer.concat([...crcs, end])), 4);
  return Buffer.concat([head, ...blocks, Buffer.from('E'), end, endCrc]);
}

/** As many entries in each payload as fit into 64 KiB. */
function packed(entries: readonly Buffer[]): Buffer[][] {
  const payloads: Buffer[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const entry of entries) {
    if (bytes + entry.length > 65_536) {
      payloads.push([]);
      bytes = 0;
    }
    payloads.at(-1)?.push(entry);
    bytes += entry.length;
  }
  return payloads;
}

async function stateWith(entries: readonly PlainEntry[], keyGroups: number) {
  const state = await memoryState({ keyGroups }).open('s', versioned(stringCodec, 'number'));
  for (const { key, value, version } of entries) {
    if (value === undefined) state.delete(key, version);
    else state.put(key, value, version);
  }
  return state;
}

const arbitraryEntries = fc.uniqueArray(
  fc.record({
    key: fc.string({ unit: 'binary', maxLength: 200 }),
    value: fc.option(
      fc.oneof(fc.string({ unit: 'binary', maxLength: 300 }), fc.constant('x'.repeat(40_000))),
      { nil: undefined },
    ),
    version: fc.maxSafeInteger(),
  }),
  { selector: ({ key }) => key, maxLength: 40 },
);
const arbitraryGroups = fc.constantFrom(1, 2, 128, 32_768);

describe('X8 the encoder writes format 1 exactly', () => {
  test('any state gives the bytes of the plain encoder', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryEntries, arbitraryGroups, async (entries, keyGroups) => {
        const state = await stateWith(entries, keyGroups);
        const plain = plainSnapshot(entries, keyGroups);
        expect(Buffer.compare(await state.snapshot(), plain)).toBe(0);
        const some = entries.slice(0, 5);
        const plainSome = plainSnapshot(some, keyGroups, 1);
        const part = await state.snapshotForKeys(some.map(({ key }) => key));
        expect(Buffer.compare(part, plainSome)).toBe(0);
      }),
      { numRuns: 50 },
    );
  });

  test('a payload of exactly 64 KiB is one block, one byte more are two', async () => {
    const entryBytes = 1 + 1 + 1 + 2 + 8 + 3; // besides the value, for a key of one character
    for (const [extra, blocks] of [
      [0, 1],
      [1, 2],
    ] as const) {
      const entries = [
        { key: 'a', value: 'x'.repeat(32_768 - entryBytes), version: 1 },
        { key: 'b', value: 'x'.repeat(32_768 - entryBytes + extra), version: 1 },
      ];
      const snapshot = await (await stateWith(entries, 1)).snapshot();
      expect(Buffer.compare(snapshot, plainSnapshot(entries, 1))).toBe(0);
      const counted = Buffer.from(snapshot.subarray(-20)).readBigUInt64BE();
      expect(counted).toBe(BigInt(blocks));
    }
  });
});

describe('X9 a snapshot with valid checksums that is still wrong', () => {
  const restore = async (bytes: Uint8Array) => {
    const state = await memoryState().open('s', versioned(stringCodec, 'number'));
    await state.restore(bytes);
  };
  const entry = (key: string): PlainEntry => ({ key, value: 'x', version: 1 });
  /** Splits a snapshot at its blocks, lets `change` rearrange them, and writes a matching end. */
  const rebuilt = (entries: readonly PlainEntry[], change: (blocks: Buffer[]) => Buffer[]) => {
    const bytes = plainSnapshot(entries, 128);
    const headEnd = 16 + bytes.readUInt32BE(12) + 4;
    const blocks: Buffer[] = [];
    for (let at = headEnd; bytes[at] === 0x42; ) {
      const end = at + 13 + bytes.readUInt32BE(at + 9) + 4;
      blocks.push(bytes.subarray(at, end));
      at = end;
    }
    const changed = change(blocks);
    const count = changed.reduce((sum, block) => sum + block.readUInt32BE(5), 0);
    const end = Buffer.concat([u(changed.length, 8), u(count, 8)]);
    const crc = crc32(Buffer.concat([...changed.map((block) => block.subarray(-4)), end]));
    return Buffer.concat([
      bytes.subarray(0, headEnd),
      ...changed,
      Buffer.from('E'),
      end,
      u(crc, 4),
    ]);
  };
  const corrupt = expect.objectContaining({ code: 'corrupt' });
  const two = [entry('user-1'), entry('')]; // groups 27 and 42

  test('blocks in the wrong order', async () => {
    await restore(rebuilt(two, (blocks) => blocks));
    await expect(restore(rebuilt(two, (blocks) => blocks.reverse()))).rejects.toEqual(corrupt);
  });

  test('a block that comes twice', async () => {
    const twice = rebuilt(two, ([first, second]) => [first, first, second] as Buffer[]);
    await expect(restore(twice)).rejects.toEqual(corrupt);
  });

  test('a block of another key group or section', async () => {
    for (const [offset, value] of [
      [3, 28],
      [1, 1],
    ] as const) {
      const moved = rebuilt(two, ([first, second]) => {
        const body = Buffer.from(first?.subarray(0, -4) ?? []);
        body.writeUInt16BE(value, offset);
        return [withCrc(body), second as Buffer];
      });
      await expect(restore(moved)).rejects.toEqual(corrupt);
    }
  });

  test('a block that says it has more or fewer entries', async () => {
    for (const count of [0, 2]) {
      const changed = rebuilt(two, ([first, second]) => {
        const body = Buffer.from(first?.subarray(0, -4) ?? []);
        body.writeUInt32BE(count, 5);
        return [withCrc(body), second as Buffer];
      });
      await expect(restore(changed)).rejects.toEqual(corrupt);
    }
  });

  test('a missing block', async () => {
    const bytes = plainSnapshot(two, 128);
    const shorter = rebuilt(two, ([, second]) => [second as Buffer]);
    await restore(shorter); // it is a valid snapshot by itself
    const oldEnd = bytes.subarray(-21);
    await expect(restore(Buffer.concat([shorter.subarray(0, -21), oldEnd]))).rejects.toEqual(
      corrupt,
    );
  });

  test('a tombstone in an aggregate', async () => {
    const state = await memoryState().open('s', aggregate(stringCodec));
    state.update('a', () => '');
    const bytes = Buffer.from(await state.snapshot());
    const blockStart = 16 + bytes.readUInt32BE(12) + 4;
    const block = Buffer.from(bytes.subarray(blockStart, -21 - 4));
    block[13] = 1; // the flags of its entry
    const sealed = withCrc(block);
    const counts = bytes.subarray(-20, -4);
    const end = u(crc32(Buffer.concat([sealed.subarray(-4), counts])), 4);
    const head = bytes.subarray(0, blockStart);
    const changed = Buffer.concat([head, sealed, Buffer.from('E'), counts, end]);
    await expect(state.restore(changed)).rejects.toEqual(corrupt);
  });

  test('flags that this release does not know are too new', () => {
    expect(() => new SnapshotReader(plainSnapshot(two, 128, 2))).toThrow(
      expect.objectContaining({ code: 'too-new' }),
    );
  });

  test('another number of key groups is fine: keys are grouped again', async () => {
    const state = await memoryState({ keyGroups: 7 }).open('s', versioned(stringCodec, 'number'));
    await state.restore(plainSnapshot(two, 128));
    expect(await state.snapshot()).toEqual(new Uint8Array(plainSnapshot(two, 7)));
  });
});

import { SynclineError } from '@syncline/kernel';
import { describe, expect, test } from 'vitest';
import { createCellDeltas, createCells } from '../cells.js';
import { differenceOf } from '../testing/codec-difference.js';
import { plainRequest } from '../testing/plain-sync.js';
import { writeDeltas } from './cell-lists.js';
import { decodeSyncRequest, encodeBuckets, encodeSyncRequest } from './sync-codec.js';
import { WireWriter } from './wire-writer.js';

const elementsMax = 4;

const bytesOf = (hex: string) => Uint8Array.from(Buffer.from(hex.replaceAll(' ', ''), 'hex'));

function refusalOf(bytes: Uint8Array): SynclineError {
  try {
    decodeSyncRequest(bytes, { elementsMax });
  } catch (error) {
    if (error instanceof SynclineError) return error;
  }
  throw new Error('it was not refused with a SynclineError');
}

test('a delta update of the published contract, byte by byte', () => {
  // member 1 of 25 bytes: seed 42; one delta of 21 bytes: row 1, column 300, +0.5, time 1700000000000
  const bytes = bytesOf('0a 19 08 2a 12 15 08 01 10 ac02 19 000000000000e03f 20 80d095ffbc31');
  const request = decodeSyncRequest(bytes, { elementsMax });
  expect(plainRequest(request)).toEqual({
    kind: 'delta-update',
    seed: 42n,
    deltas: [[1, 300, 0.5, 1_700_000_000_000, 0, 1]], // bounds that are absent are 0 and 1
    seq: 0,
    epoch: 0,
  });
  expect(encodeSyncRequest(request)).toEqual(bytes);
});

describe('too many elements', () => {
  const emptyDeltas = (count: number) => Uint8Array.of(0x0a, 2 * count, ...pairs(0x12, count));
  const emptyBuckets = (count: number) => Uint8Array.of(0x22, 2 * count, ...pairs(0x12, count));
  const pairs = (tag: number, count: number) =>
    Array.from({ length: count }, () => [tag, 0]).flat();

  test.each([
    ['deltas', emptyDeltas],
    ['buckets', emptyBuckets],
  ] as const)('%s: the limit is allowed and one more is not', (field, message) => {
    expect(() => decodeSyncRequest(message(4), { elementsMax })).not.toThrow();
    expect(refusalOf(message(5))).toMatchObject({
      code: 'invalid-argument',
      message: `${field} holds 5 elements or more, at most 4; split the message`,
      details: { field, count: 5, limit: 4 },
    });
  });

  test('those of a member that another one replaces count too: they cost the same', () => {
    const stateRequest = [0x12, 0x00];
    const bytes = Uint8Array.of(...emptyDeltas(3), ...stateRequest, ...emptyDeltas(2));
    expect(refusalOf(bytes).details).toMatchObject({ field: 'deltas', count: 5 });
  });

  test('a hundred thousand are refused at the first one above the limit', () => {
    const huge = encodeBuckets(0n, { ...createCells(100_000), count: 100_000 }, 0, 100_000);
    const length = [
      0x80 | (huge.length & 0x7f),
      0x80 | ((huge.length >> 7) & 0x7f),
      huge.length >> 14,
    ];
    const bytes = new Uint8Array(4 + huge.length);
    bytes.set([0x22, ...length]);
    bytes.set(huge, 4);
    expect(refusalOf(bytes).details).toMatchObject({ field: 'buckets', count: 5, limit: 4 });
  });
});

test.each([
  ['nothing', '', 'SyncRequest.request is empty; set delta_update'],
  ['an unknown field alone', '78 01', 'SyncRequest.request is empty'],
  ['a cut', '0a 05 08', 'it ends inside a field, at byte 3 of 3, in or after field number 1'],
  ['a field number 0', '00', 'a field has number 0'],
  ['a wire type of 6', '0e', 'unknown wire type'],
  ['a tag above 32 bits', 'ff ff ff ff 1f', 'a tag is above 32 bits'],
  ['an endless varint', '08 ff ff ff ff ff ff ff ff ff ff 01', 'more than 10 bytes'],
  ['an end without a group', '7c', 'a group ends that did not begin'],
  ['text that is not UTF-8', '1a 03 0a 01 ff', 'a text is not UTF-8'],
])('%s is refused with the reason', (_, hex, reason) => {
  const refusal = refusalOf(bytesOf(hex));
  expect(refusal).toMatchObject({ code: 'invalid-argument' });
  expect(refusal.message).toContain(reason);
});

test('F3 nested groups are followed as deep as Protobuf-ES follows them', () => {
  const unknownGroups = (count: number) => [
    ...Array.from({ length: count }, () => 0x7b),
    ...Array.from({ length: count }, () => 0x7c),
  ];
  const nested = (tag: number, body: readonly number[]) => [
    tag,
    0x80 | (body.length & 0x7f),
    body.length >> 7,
    ...body,
  ];
  const verdicts = new Set<boolean>();
  for (let count = 95; count <= 101; count += 1) {
    const groups = unknownGroups(count);
    const update = nested(0x0a, groups);
    const element = nested(0x0a, nested(0x12, groups));
    const inConfig = nested(0x1a, nested(0x1a, groups));
    const inWelcome = nested(0x42, groups);
    for (const bytes of [
      [0x12, 0x00, ...groups],
      update,
      element,
      nested(0x12, groups),
      inConfig,
      inWelcome,
    ]) {
      const difference = differenceOf(Uint8Array.from(bytes));
      expect(difference).toBeUndefined();
      verdicts.add(isRead(Uint8Array.from(bytes)));
    }
  }
  expect(verdicts.size).toBe(2); // both sides of the limit were seen
});

test('F3 bits of a varint above the 64th are cut off', () => {
  const empty = Array.from({ length: 9 }, () => 0x80);
  for (const field of [0x08, 0x18, 0x20]) {
    const bytes = Uint8Array.of(0x0a, 11, field, ...empty, 0x02);
    expect(differenceOf(bytes)).toBeUndefined();
    expect(decodeSyncRequest(bytes, { elementsMax })).toMatchObject({ seed: 0n, seq: 0, epoch: 0 });
  }
});

test('elements of the greatest size are written whole wherever the buffer has to grow', () => {
  const columns = createCellDeltas(80);
  const { rows, columns: ids, timesMs, amounts, lows, highs } = columns;
  for (const column of [rows, ids, timesMs]) column.fill(Number.POSITIVE_INFINITY);
  for (const column of [amounts, lows, highs]) column.fill(0.3);
  columns.count = columns.rows.length;
  for (let before = 0; before < 62; before += 1) {
    const writer = new WireWriter(); // a new one is small
    writer.string(1, 'x'.repeat(before));
    writeDeltas(writer, 2, columns);
    const textBytes = before === 0 ? 0 : before + 2;
    expect(writer.finish()).toHaveLength(textBytes + 80 * 62);
  }
});

function isRead(bytes: Uint8Array): boolean {
  try {
    decodeSyncRequest(bytes, { elementsMax });
    return true;
  } catch {
    return false;
  }
}

import { SynclineError } from '@syncline/kernel';
import { WireWriter } from '@syncline/kernel/wire';
import { describe, expect, test } from 'vitest';
import { createCellDeltas, createCells } from '../cells.js';
import { plainRequest } from '../testing/codec-difference.js';
import { writeDeltas } from './cell-lists.js';
import { decodeSyncRequest, encodeBuckets, encodeSyncRequest } from './sync-codec.js';

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
  expect(encodeSyncRequest(request)).toEqual(Buffer.from(bytes));
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
      message: `${field} has 5 elements or more; at most 4 are allowed. Split the message`,
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
  ['a cut', '0a 05 08', 'a field of 5 bytes extends beyond the end, at byte 2 of 3'],
  ['a field number 0', '00', 'a field has number 0'],
  ['a wire type of 6', '0e', 'a field has wire type 6'],
  ['a tag above 32 bits', 'ff ff ff ff 1f', 'a number takes more than 32 bits'],
  ['an endless varint', '78 ff ff ff ff ff ff ff ff ff ff 01', 'more than 10 bytes'],
  ['a number above 64 bits', '78 ff ff ff ff ff ff ff ff ff 02', 'more than 64 bits'],
  ['a number as text', '0a 03 0a 01 31', 'a field has wire type 2, not 0'],
  ['a group', '7b 7c', 'a field has wire type 3'],
  ['an end without a group', '7c', 'a field has wire type 4'],
  ['text that is not UTF-8', '1a 03 0a 01 ff', 'a string is not valid UTF-8'],
])('F3 %s is refused with the reason', (_, hex, reason) => {
  const refusal = refusalOf(bytesOf(hex));
  expect(refusal).toMatchObject({ code: 'invalid-argument' });
  expect(refusal.message).toContain(reason);
});

test('elements of the greatest size are written whole wherever the buffer has to grow', () => {
  const columns = createCellDeltas(80);
  const { rows, columns: ids, timesMs, amounts, lows, highs } = columns;
  for (const column of [rows, ids, timesMs]) column.fill(Number.MAX_SAFE_INTEGER);
  for (const column of [amounts, lows, highs]) column.fill(0.3);
  columns.count = columns.rows.length;
  for (let before = 0; before < 56; before += 1) {
    const writer = new WireWriter(); // a new one is small
    writer.text(1, 'x'.repeat(before));
    writeDeltas(writer, 2, columns);
    const textBytes = before === 0 ? 0 : before + 2;
    expect(writer.copy()).toHaveLength(textBytes + 80 * 56);
  }
});

import { expect, test } from 'vitest';
import {
  CHAIN_START,
  decodeSegmentHeader,
  encodeSegmentHeader,
  parseSegmentName,
  RecordChain,
  segmentPath,
} from './segment-format.js';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const owner = Uint8Array.of(1, 2, 3);
const header = { owner, firstNumber: 2 ** 40 + 5, chainCrc: 0xdeadbeef };

test('a header has the bytes that logs on disk have', () => {
  expect(hex(encodeSegmentHeader(header))).toBe(
    '53594c4700013a16' + '03010203' + '0000010000000005' + 'deadbeef' + '3f3a5d9b',
  );
});

test.each([0, 1, 255])('a header with an owner of %i bytes is decoded again', (ownerBytes) => {
  const written = { ...header, owner: new Uint8Array(ownerBytes).fill(9) };
  const bytes = encodeSegmentHeader(written);
  const decoded = { kind: 'ok', header: written, bytes: bytes.length };
  expect(decodeSegmentHeader(bytes)).toEqual(decoded);
  expect(decodeSegmentHeader(Uint8Array.of(...bytes, ...new Uint8Array(500)))).toEqual(decoded);
});

test('K40 a header with any byte changed or missing is damaged, never good or newer', () => {
  const bytes = encodeSegmentHeader(header);
  for (let index = 0; index < bytes.length; index += 1) {
    expect(decodeSegmentHeader(bytes.subarray(0, index))).toEqual({ kind: 'damaged' });
    for (let mask = 1; mask < 256; mask += 1) {
      const changed = bytes.slice();
      changed[index] = (changed[index] ?? 0) ^ mask;
      expect(decodeSegmentHeader(changed).kind, `byte ${index} ^ ${mask}`).toBe('damaged');
    }
  }
  expect(decodeSegmentHeader(new Uint8Array(4096)).kind).toBe('damaged');
});

test('the checksum of a record depends on all before it, its number, kind, length and body', () => {
  const body = new TextEncoder().encode('body');
  const chain = new RecordChain(7, 0x1234);
  const crc = chain.crcOfBody(3, body);
  expect(crc).toBe(0x9abe3c4f); // as in logs on disk
  expect(chain.crcOf(3, 4, [body.subarray(0, 1), body.subarray(1)])).toBe(crc);
  expect(new RecordChain(7, 0x1235).crcOfBody(3, body)).not.toBe(crc);
  expect(new RecordChain(8, 0x1234).crcOfBody(3, body)).not.toBe(crc);
  expect(new RecordChain(7 + 2 ** 32, 0x1234).crcOfBody(3, body)).not.toBe(crc);
  expect(chain.crcOfBody(4, body)).not.toBe(crc);
  expect(chain.crcOfBody(3, body.subarray(1))).not.toBe(crc);
  expect(chain.advance(crc)).toBe(7);
  expect(chain).toMatchObject({ nextNumber: 8, crc });
});

test('zeros are not a record', () => {
  let chain = new RecordChain(1, CHAIN_START);
  for (let number = 1; number < 1000; number += 1) {
    const crc = chain.crcOfBody(0, new Uint8Array(0));
    expect(crc).not.toBe(0);
    chain = new RecordChain(number + 1, crc);
  }
});

test('names sort as their numbers do, and other files are not segments', () => {
  expect(segmentPath('sets/log', 42)).toBe('sets/log/0000000000000042.log');
  expect(parseSegmentName('0000000000000042.log')).toBe(42);
  expect(parseSegmentName('9007199254740991.log')).toBe(Number.MAX_SAFE_INTEGER);
  for (const name of ['9007199254740993.log', '42.log', '0000000000000042.log.tmp', 'reserve']) {
    expect(parseSegmentName(name)).toBeUndefined();
  }
});

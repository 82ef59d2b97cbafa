import { createHmac } from 'node:crypto';
import { crc32 as zlibCrc32 } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import {
  fmix32,
  halfSipHash13,
  halfSipKey,
  hmacSha256,
  murmur3x64x128,
  murmur3x86x32,
} from '../index.js';
import { crc32 } from './crc32.js';

const utf8 = (text: string) => new TextEncoder().encode(text);
const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
const hex = (word: number | bigint, digits = 8) => word.toString(16).padStart(digits, '0');

describe('K6 HalfSipHash-1-3', () => {
  const secret = Uint8Array.from({ length: 32 }, (_, i) => i);
  const baseKey = halfSipKey(createHmac('sha256', secret).update('syncline/fair/base/1').digest());
  const hash = (key: { k0: number; k1: number }, bytes: Uint8Array) => {
    const out = new Uint32Array(2);
    halfSipHash13(key, viewOf(bytes), bytes.length, out);
    return [...out].map((word) => hex(word)).join(' ');
  };

  test('returns the published value for a flow key', () => {
    expect(hash(baseKey, utf8('tenant-1'))).toBe('1dfeae09 b1a5183a');
  });

  test('equals a plain transcription of the paper for every length from 0 to 64', () => {
    for (let length = 0; length <= 64; length += 1) {
      const bytes = Uint8Array.from({ length }, (_, i) => (i * 37 + length) & 0xff);
      expect(hash(baseKey, bytes), `length ${length}`).toBe(plainHalfSipHash(baseKey, bytes));
    }
  });

  test('reads no byte beyond the given length', () => {
    const out = new Uint32Array(2);
    halfSipHash13(baseKey, viewOf(utf8('tenant-1 and more')), 8, out);
    expect([...out].map((word) => hex(word)).join(' ')).toBe('1dfeae09 b1a5183a');
  });

  test('gives the same result wherever the bytes are in the buffer', () => {
    for (let length = 0; length <= 9; length += 1) {
      const bytes = utf8('tenant-1!').subarray(0, length);
      for (let start = 0; start <= 5; start += 1) {
        const out = new Uint32Array(2);
        const around = Uint8Array.of(...new Array<number>(start).fill(0xaa), ...bytes, 0xbb);
        halfSipHash13(baseKey, viewOf(around), { start, end: start + length }, out);
        const found = [...out].map((word) => hex(word)).join(' ');
        expect(found, `${length} bytes from ${start} on`).toBe(hash(baseKey, bytes));
      }
    }
  });
});

describe('K6 murmur3', () => {
  test.each([
    ['', 0, '00000000'],
    ['', 1, '514e28b7'],
    ['hello', 0, '248bfa47'],
    ['The quick brown fox jumps over the lazy dog', 0, '2e4ff723'],
    // Stream keys: a type byte, then the encoded key.
    ['\x04user-1', 0, '622b5d9b'],
    ['\x04', 0, '3961a4aa'],
    ['\x04é', 0, '89b86d78'],
  ])('x86-32 of %j with seed %d', (text, seed, expected) => {
    expect(hex(murmur3x86x32(utf8(text), seed))).toBe(expected);
  });

  test('x86-32 of the stream key 42', () => {
    const key = Uint8Array.of(2, 0x80, 0, 0, 0, 0, 0, 0, 42);
    expect(hex(murmur3x86x32(key))).toBe('1c9aaef2');
    expect(murmur3x86x32(key) % 128).toBe(114);
  });

  test('x64-128 of a flow key with seed 42', () => {
    const [low] = murmur3x64x128(utf8('steady-000'), 42);
    expect(hex(low, 16)).toBe('349f48bca34f645f');
    const [h1, h2] = [Number(low & 0xffffffffn), Number(low >> 32n)];
    expect([0, 1, 2].map((i) => ((h1 + i * h2) % 2 ** 32) % 1000)).toEqual([247, 323, 103]);
  });

  test('x64-128 over a tail and over whole blocks', () => {
    const text = 'The quick brown fox jumps over the lazy dog';
    expect(murmur3x64x128(utf8(text)).map((word) => hex(word, 16))).toEqual([
      'e34bbc7bbc071b6c',
      '7a433ca9c49a9347',
    ]);
  });

  test('fmix32 keeps 0 and mixes 1', () => {
    expect([fmix32(0), hex(fmix32(1))]).toEqual([0, '514e28b7']);
  });
});

test('K6 CRC-32 returns the standard check value, at once and in parts', () => {
  expect(hex(crc32(utf8('123456789')))).toBe('cbf43926');
  expect(hex(crc32(utf8('6789'), crc32(utf8('12345'))))).toBe('cbf43926');
});

test('K6 CRC-32 of short bytes is that of zlib', () => {
  for (let length = 0; length < 64; length += 1) {
    const bytes = Uint8Array.from({ length }, (_, index) => Math.imul(index + length, 0x9e37));
    expect(crc32(bytes, length)).toBe(zlibCrc32(bytes, length));
  }
});

/** The paper's definition, word by word and round by round, without regard to speed. */
function plainHalfSipHash(key: { k0: number; k1: number }, bytes: Uint8Array): string {
  const v = [key.k0, key.k1 ^ 0xee, key.k0 ^ 0x6c796765, key.k1 ^ 0x74656462];
  const rotate = (x: number, by: number) => (x << by) | (x >>> (32 - by));
  const at = (i: number) => v[i] ?? 0;
  const round = () => {
    v[0] = (at(0) + at(1)) | 0;
    v[1] = rotate(at(1), 5) ^ at(0);
    v[0] = rotate(at(0), 16);
    v[2] = (at(2) + at(3)) | 0;
    v[3] = rotate(at(3), 8) ^ at(2);
    v[0] = (at(0) + at(3)) | 0;
    v[3] = rotate(at(3), 7) ^ at(0);
    v[2] = (at(2) + at(1)) | 0;
    v[1] = rotate(at(1), 13) ^ at(2);
    v[2] = rotate(at(2), 16);
  };
  const padded = new Uint8Array(bytes.length - (bytes.length % 4) + 4);
  padded.set(bytes);
  padded[padded.length - 1] = bytes.length & 0xff;
  const view = new DataView(padded.buffer);
  for (let i = 0; i < padded.length; i += 4) {
    v[3] = at(3) ^ view.getUint32(i, true);
    round();
    v[0] = at(0) ^ view.getUint32(i, true);
  }
  v[2] = at(2) ^ 0xee;
  for (let i = 0; i < 3; i += 1) round();
  const first = (at(1) ^ at(3)) >>> 0;
  v[1] = at(1) ^ 0xdd;
  for (let i = 0; i < 3; i += 1) round();
  return `${hex(first)} ${hex((at(1) ^ at(3)) >>> 0)}`;
}

test("HMAC-SHA-256 equals Node's for keys and messages of every length from 0 to 200", () => {
  const bytes = Uint8Array.from({ length: 200 }, (_, index) => (index * 151 + 7) & 0xff);
  for (let length = 0; length <= 200; length += 1) {
    const key = bytes.subarray(200 - length);
    const message = bytes.subarray(0, (length * 13) % 201);
    const expected = createHmac('sha256', key).update(message).digest('hex');
    expect(Buffer.from(hmacSha256(key, message)).toString('hex'), `length ${length}`).toBe(
      expected,
    );
  }
});

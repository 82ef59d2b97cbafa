import { createHash } from 'node:crypto';
import { halfSipHash13, halfSipKey } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { createOrderKeys, OrderHash, positionOf } from './order-hash.js';

const utf8 = (text: string) => Buffer.from(text, 'utf8');

function positionIn(clusterId: string, bytes: Uint8Array, before = 0): number {
  const around = Buffer.concat([Buffer.alloc(before, 0xaa), bytes, Buffer.alloc(3, 0xbb)]);
  const view = new DataView(around.buffer, around.byteOffset, around.length);
  const words = new Uint32Array(2);
  new OrderHash(createOrderKeys(clusterId).order).write(view, before, before + bytes.length, words);
  return positionOf(words);
}

// Cursors that clients hold depend on these values.
test.each([
  ['dev', '', 'a6a9d881431f'],
  ['dev', 'a', 'ad59be4c8ba3'],
  ['dev', 'element:000000000001', 'e362ef835b11'],
  ['prod', 'a', '2790623270ee'],
])('the position in cluster %j of %j', (clusterId, text, position) => {
  expect(positionIn(clusterId, utf8(text)).toString(16).padStart(12, '0')).toBe(position);
});

test('the position is the first six bytes of the hash, as a big-endian number', () => {
  const digest = createHash('sha256').update('syncline/sets/order/1dev').digest();
  for (let length = 0; length <= 40; length += 1) {
    const bytes = Buffer.alloc(length, length + 1);
    const words = new Uint32Array(2);
    const view = new DataView(bytes.buffer, bytes.byteOffset, length);
    halfSipHash13(halfSipKey(digest), view, length, words);
    const output = Buffer.alloc(8);
    output.writeUInt32LE(words[0] ?? 0, 0);
    output.writeUInt32LE(words[1] ?? 0, 4);
    expect(positionIn('dev', bytes, length % 5)).toBe(output.readUIntBE(0, 6));
  }
});

test('the key of the digest over dots is bytes 8 to 15 of the same hash', () => {
  const digest = createHash('sha256').update('syncline/sets/order/1dev').digest();
  expect(createOrderKeys('dev').riblt).toEqual({
    k0: digest.readInt32LE(8),
    k1: digest.readInt32LE(12),
  });
});

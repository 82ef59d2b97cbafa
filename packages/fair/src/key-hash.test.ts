import { expect, test } from 'vitest';
import { columnAt, KeyedHash, type KeyHash, MurmurHash } from './key-hash.js';
import { fairLimits } from './limits.js';

const secret = Uint8Array.from({ length: 32 }, (_, index) => index);
const hex = (word: number) => word.toString(16).padStart(8, '0');

function located(hash: KeyHash, key: string | Uint8Array, seed: number) {
  const words = new Uint32Array(2);
  hash.digest(key);
  hash.locate(hash.saltOf(seed), words);
  return {
    words: [...words].map(hex).join(' '),
    columns: [0, 1, 2].map((level) => columnAt(words, level, 1000)),
  };
}

test('F20 the keyed hash gives the published words and columns', () => {
  const hash = new KeyedHash(secret);
  expect(located(hash, 'tenant-1', 1_700_000_100_000)).toEqual({
    words: '95e16f4a ba7fd145',
    columns: [274, 799, 324],
  });
  expect(located(hash, 'tenant-1', 1_700_000_400_000)).toEqual({
    words: '7c11db9e 577cf42c',
    columns: [118, 882, 350],
  });
});

test('F20 murmur3 gives the published words and columns', () => {
  const hash = new MurmurHash((seed) => Uint32Array.of(seed));
  expect(located(hash, 'steady-000', 42)).toEqual({
    words: 'a34f645f 349f48bc',
    columns: [247, 323, 103],
  });
});

test('F20 text and its UTF-8 bytes are one key', () => {
  const hash = new KeyedHash(secret);
  for (const key of ['tenant-1', 'Grüße', '東京', '🦊']) {
    const bytes = new TextEncoder().encode(key);
    expect(located(hash, key, 0), key).toEqual(located(hash, bytes, 0));
  }
});

test('only the first part of a long key is hashed', () => {
  const hash = new KeyedHash(secret);
  const most = fairLimits.keyUnitsHashedMax.value;
  for (const unit of ['a', 'ü']) {
    const whole = located(hash, unit.repeat(most), 0);
    expect(located(hash, `${unit.repeat(most)}b`, 0)).toEqual(whole);
    expect(located(hash, `${unit.repeat(most - 1)}b`, 0)).not.toEqual(whole);
  }
});

test('another secret, or another window, gives other columns', () => {
  const hash = new KeyedHash(secret);
  const here = located(hash, 'tenant-1', 0).words;
  expect(located(hash, 'tenant-1', 300_000).words).not.toBe(here);
  expect(located(new KeyedHash(secret.toReversed()), 'tenant-1', 0).words).not.toBe(here);
});

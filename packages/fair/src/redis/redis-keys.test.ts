import { expect, test } from 'vitest';
import { exponentialNamespace, sumNamespace } from '../conformance/store-samples.js';
import { channelPattern, seedKeys, seedOfChannel, trackerKeys } from './redis-keys.js';

const seed = 1_700_000_100_000n;

test('all keys of a seed share one hash tag, and those of a tracker another', () => {
  const plain = seedKeys(sumNamespace, seed);
  expect(plain.row(0)).toBe('v1:{1700000100000}:0');
  expect(plain.channel).toBe('v1:{1700000100000}:changes');
  const named = seedKeys(exponentialNamespace, seed);
  expect(named.row(2)).toBe('v1:{api:1700000100000}:2');
  expect(named.meta).toBe('v1:{api:1700000100000}:meta');
  expect(named.rows).toBe('v1:{api:1700000100000}:rows');
  expect(trackerKeys(sumNamespace).epoch).toBe('v1:{meta}:epoch');
  expect(trackerKeys(exponentialNamespace).instances).toBe('v1:{api:meta}:instances');
});

test('a channel maps back to its seed, and that of another namespace to none', () => {
  const digits = { ...exponentialNamespace, name: '17' };
  for (const namespace of [sumNamespace, exponentialNamespace, digits]) {
    const { channel } = seedKeys(namespace, seed);
    const others = [sumNamespace, exponentialNamespace, digits].filter((it) => it !== namespace);
    expect(seedOfChannel(namespace, channel)).toBe(seed);
    for (const other of others) expect(seedOfChannel(other, channel)).toBeUndefined();
  }
  expect(channelPattern(exponentialNamespace)).toBe('v1:{api:*}:changes');
});

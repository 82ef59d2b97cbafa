// Ranges: order, bounds, limits, and reading in batches.
//
// K10  Keys are ordered by unsigned bytes, shorter first. A range is [from, to), in either direction.
import assert from 'node:assert/strict';
import { kernelLimits } from '../limits.js';
import type { RangeOptions } from '../storage/storage.js';
import { StorageBatch } from '../storage/storage-batch.js';
import { BUFFERED, bytes, keysOf, numbered, put, putNumbered, text } from './storage-samples.js';
import type { StorageSubject } from './storage-subject.js';

export const rangeCases = {
  'K10 keys are ordered by unsigned bytes, shorter first': unsignedOrder,
  'K10 a range includes its first bound and excludes its last, in both directions': bounds,
  'K10 a range whose bounds exclude everything is empty': emptyRanges,
  'a limit ends a range at 0, 1 and n, in both directions': limits,
  'a limit that is not a non-negative integer is refused': badLimits,
  'a range over many entries is complete, in both directions': manyEntries,
  'batches hold a bounded number of entries': batchesAreBounded,
  'batches of large values are bounded by bytes': batchesAreBoundedByBytes,
  'leaving a range early frees it': leaveEarly,
  'ranges may be read concurrently, and each more than once': sideBySide,
  'bounds may be reused once the range was requested': boundsAreCopied,
  'a range whose signal has fired does not start': abortedBefore,
  'a range ends when its signal fires': abortedWithin,
};

const MANY = 2 * kernelLimits.rangeBatchEntriesMax.value + 500;

async function unsignedOrder({ storage }: StorageSubject): Promise<void> {
  const sorted = [
    '',
    '\0',
    '\0\0',
    '\x01',
    'a',
    'a\0',
    'aa',
    'b',
    '\x7f',
    '\x80',
    '\xff',
    '\xff\xff',
  ];
  const shuffled = sorted.toSorted((left, right) => left.length - right.length).toReversed();
  for (const key of shuffled) await put(storage, { [key]: 'x' });
  assert.deepEqual(await keysOf(storage), sorted);
  assert.deepEqual(await keysOf(storage, { reverse: true }), sorted.toReversed());
}

async function bounds({ storage }: StorageSubject): Promise<void> {
  await put(storage, { a: '', b: '', c: '', d: '', dd: '', e: '' });
  const expected: readonly (readonly [string | undefined, string | undefined, string])[] = [
    [undefined, undefined, 'a b c d dd e'],
    ['', undefined, 'a b c d dd e'],
    ['b', undefined, 'b c d dd e'],
    [undefined, 'd', 'a b c'],
    ['b', 'd', 'b c'],
    ['b', 'd\0', 'b c d'],
    ['bb', 'de', 'c d dd'],
    ['dd', 'e', 'dd'],
    ['0', 'z', 'a b c d dd e'],
  ];
  for (const [from, to, keys] of expected) {
    const options: RangeOptions = {
      ...(from !== undefined && { from: bytes(from) }),
      ...(to !== undefined && { to: bytes(to) }),
    };
    assert.equal((await keysOf(storage, options)).join(' '), keys, `${from} to ${to}`);
    const reversed = await keysOf(storage, { ...options, reverse: true });
    assert.equal(reversed.toReversed().join(' '), keys, `${from} to ${to}, reverse`);
  }
}

async function emptyRanges({ storage }: StorageSubject): Promise<void> {
  assert.deepEqual(await keysOf(storage), []);
  await put(storage, { '': '', b: '', d: '' });
  for (const [from, to] of [
    ['b', 'b'],
    ['d', 'b'],
    ['', ''],
    ['b\0', 'd'],
    ['e', 'f'],
  ] as const) {
    const options = { from: bytes(from), to: bytes(to) };
    assert.deepEqual(await keysOf(storage, options), [], `${from} to ${to}`);
    assert.deepEqual(await keysOf(storage, { ...options, reverse: true }), [], `${from} to ${to}`);
  }
}

async function limits({ storage }: StorageSubject): Promise<void> {
  await put(storage, { a: '', b: '', c: '' });
  for (const limit of [0, 1, 2, 3, 4, 5000, Number.POSITIVE_INFINITY]) {
    const expected = ['a', 'b', 'c'].slice(0, limit);
    assert.deepEqual(await keysOf(storage, { limit }), expected);
    const reversed = ['c', 'b', 'a'].slice(0, limit);
    assert.deepEqual(await keysOf(storage, { limit, reverse: true }), reversed);
  }
  assert.deepEqual(await keysOf(storage, { from: bytes('b'), limit: 1 }), ['b']);
  assert.deepEqual(await keysOf(storage, { to: bytes('c'), limit: 1, reverse: true }), ['b']);
}

async function badLimits({ storage }: StorageSubject): Promise<void> {
  for (const limit of [-1, 0.5, Number.NaN]) {
    await assert.rejects(async () => keysOf(storage, { limit }), { code: 'invalid-argument' });
  }
}

async function manyEntries({ storage }: StorageSubject): Promise<void> {
  await putNumbered(storage, MANY, 'v');
  const expected = Array.from({ length: MANY }, (_, index) => numbered(index));
  assert.deepEqual(await keysOf(storage), expected);
  assert.deepEqual(await keysOf(storage, { reverse: true }), expected.toReversed());
  const limit = kernelLimits.rangeBatchEntriesMax.value + 1;
  assert.deepEqual(await keysOf(storage, { limit }), expected.slice(0, limit));
}

async function batchesAreBounded({ storage }: StorageSubject): Promise<void> {
  await putNumbered(storage, MANY, 'v');
  const keys: (string | undefined)[] = [];
  for await (const batch of storage.range().batches()) {
    assert.ok(batch.length > 0 && batch.length <= kernelLimits.rangeBatchEntriesMax.value);
    keys.push(...batch.map(({ key }) => text(key)));
  }
  assert.equal(keys.length, MANY);
  assert.deepEqual(keys, await keysOf(storage));
}

async function batchesAreBoundedByBytes({ storage }: StorageSubject): Promise<void> {
  const valueBytes = kernelLimits.rangeBatchBytesMax.value / 4;
  const batch = new StorageBatch();
  for (let index = 0; index < 10; index += 1) {
    batch.put(bytes(numbered(index)), new Uint8Array(valueBytes));
  }
  await storage.write(batch, BUFFERED);
  let entries = 0;
  for await (const read of storage.range().batches()) {
    assert.ok(read.length <= 5, `${read.length} large values at once`);
    entries += read.length;
  }
  assert.equal(entries, 10);
}

async function leaveEarly({ storage }: StorageSubject): Promise<void> {
  await putNumbered(storage, MANY, 'v');
  for (let round = 0; round < 3; round += 1) {
    for await (const { key } of storage.range()) {
      assert.equal(text(key), numbered(0));
      break;
    }
    for await (const batch of storage.range().batches()) {
      assert.ok(batch.length > 0);
      break;
    }
  }
  await storage.close();
}

async function sideBySide({ storage }: StorageSubject): Promise<void> {
  await putNumbered(storage, MANY, 'v');
  const range = storage.range();
  const [first, second] = await Promise.all([countOf(range), countOf(range)]);
  assert.deepEqual([first, second], [MANY, MANY]);
}

async function countOf(range: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const _ of range) count += 1;
  return count;
}

async function boundsAreCopied({ storage }: StorageSubject): Promise<void> {
  await put(storage, { a: '', b: '', c: '', d: '' });
  const from = bytes('b');
  const to = bytes('d');
  const range = storage.range({ from, to });
  from.fill(0);
  to.fill(0);
  assert.equal(await countOf(range), 2);
}

async function abortedBefore({ storage }: StorageSubject): Promise<void> {
  await put(storage, { a: '' });
  const signal = AbortSignal.abort(new Error('given up'));
  await assert.rejects(keysOf(storage, { signal }), { code: 'aborted' });
}

async function abortedWithin({ storage }: StorageSubject): Promise<void> {
  await putNumbered(storage, MANY, 'v');
  const controller = new AbortController();
  let entries = 0;
  await assert.rejects(
    async () => {
      for await (const _ of storage.range({ signal: controller.signal })) {
        entries += 1;
        controller.abort();
      }
    },
    { code: 'aborted' },
  );
  assert.ok(entries >= 1 && entries < MANY, `it ended after ${entries} of ${MANY}`);
}

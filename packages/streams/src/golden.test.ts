// Data written in format 1 stays readable. The files in testdata/format-1 are never rewritten; a later format gets
// its own folder beside it.
import { readFileSync } from 'node:fs';
import { createMemoryStorage, StorageBatch } from '@syncline/kernel';
import { describe, expect, test } from 'vitest';
import { embeddedState } from './embedded/embedded-state.js';
import { memoryState } from './memory/memory-state.js';
import { bigintCodec, bytesCodec, numberCodec, stringCodec } from './state/codec.js';
import { jsonCodec } from './state/json-codec.js';
import type { Key } from './state/key.js';
import {
  type AggregateBackend,
  aggregate,
  type StateBackend,
  type StateDescription,
  type StateStore,
  versioned,
} from './state/state-backend.js';
import type { Version } from './state/version.js';

interface Golden {
  readonly description: StateDescription;
  /** Key, value (undefined is a tombstone), and version for versioned states. */
  readonly entries: readonly (readonly [Key, unknown, Version?])[];
  readonly isPartial?: boolean;
}

const keys: readonly Key[] = [
  ...['', 'user-1', 'é', '\u{1f600}', 0, -1, 42, Number.MAX_SAFE_INTEGER],
  ...[0n, -1n, 2n ** 64n, 1n - 2n ** 256n],
];

const golden: Readonly<Record<string, Golden>> = {
  'empty.snap': { description: aggregate(numberCodec), entries: [] },
  'numbers.snap': {
    description: aggregate(numberCodec),
    entries: keys.map((key, index) => [key, index === 0 ? -0 : index * 1.5]),
  },
  'some-keys.snap': {
    description: aggregate(bigintCodec),
    entries: keys.map((key, index) => [key, BigInt(index) ** 40n * -1n]),
    isPartial: true,
  },
  'bytes.snap': {
    description: aggregate(bytesCodec),
    entries: keys.map((key, index) => [key, new Uint8Array(index).fill(index)]),
  },
  'versioned-numbers.snap': {
    description: versioned(stringCodec, 'number'),
    entries: keys.map((key, index) => [
      key,
      index % 3 === 2 ? undefined : 'é'.repeat(index),
      (index - 5) * 2 ** 40,
    ]),
  },
  'versioned-bigints.snap': {
    description: versioned(jsonCodec(), 'bigint'),
    entries: keys.map((key, index) => [key, { z: [index, null], a: 'x' }, (-3n) ** BigInt(index)]),
  },
  'versioned-logical-times.snap': {
    description: versioned(stringCodec, 'logical-time'),
    entries: keys.map((key, index) => [
      key,
      `value ${index}`,
      {
        epoch: index,
        round: 0 - index * 2 ** 40,
        origin: index % 2 ? 'partition-é' : '',
        index: index * 31,
      },
    ]),
  },
  'several-blocks.snap': {
    description: aggregate(stringCodec),
    entries: Array.from({ length: 12 }, (_, index) => [`key-${index}`, 'x'.repeat(index ** 4)]),
  },
};

const folder = new URL('../testdata/format-1/', import.meta.url);

async function fill(store: StateStore, { description, entries }: Golden) {
  const state = await store.open('s', description);
  for (const [key, value, version] of entries) {
    const newest = state as StateBackend<Key, unknown, Version>;
    if (version === undefined) (state as AggregateBackend<Key, unknown>).update(key, () => value);
    else if (value === undefined) newest.delete(key, version);
    else newest.put(key, value, version);
  }
  return state;
}

describe('X10 snapshots of format 1', () => {
  test.each(Object.entries(golden))('%s can be read', async (file, sample) => {
    const bytes = new Uint8Array(readFileSync(new URL(file, folder)));
    const state = await memoryState().open('s', sample.description);
    if (sample.isPartial === true) await state.restoreKeys(bytes);
    else await state.restore(bytes);
    for (const [key, value, version] of sample.entries) {
      const expected = version === undefined || value === undefined ? value : { value, version };
      expect(state.get(key), String(key)).toEqual(expected);
    }
    // And the same bytes are still written, until there is another format.
    const same = await fill(memoryState(), sample);
    const again = await (sample.isPartial === true
      ? same.snapshotForKeys(sample.entries.map(([key]) => key))
      : same.snapshot());
    expect(Buffer.compare(again, bytes)).toBe(0);
  });
});

test('X10 an embedded state of format 1 can be opened', async () => {
  const sample = golden['versioned-numbers.snap'] as Golden;
  const lines = readFileSync(new URL('embedded.txt', folder), 'utf8').trimEnd().split('\n');
  const storage = createMemoryStorage();
  const batch = new StorageBatch();
  for (const line of lines) {
    const [key = '', value = ''] = line.split(' ').map((part) => Buffer.from(part, 'hex'));
    batch.put(Buffer.from(key), Buffer.from(value));
  }
  await storage.write(batch, { durability: 'synced' });
  const state = await embeddedState(storage).open('s', sample.description);
  const expected = new Uint8Array(readFileSync(new URL('versioned-numbers.snap', folder)));
  expect(Buffer.compare(await state.snapshot(), expected)).toBe(0);

  const written = createMemoryStorage();
  const store = embeddedState(written);
  await fill(store, sample);
  await store.flush();
  const found: string[] = [];
  for await (const { key, value } of written.range()) {
    found.push(`${Buffer.from(key).toString('hex')} ${Buffer.from(value).toString('hex')}`);
  }
  expect(found).toEqual(lines);
});

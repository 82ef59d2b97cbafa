import { createMemoryStorage, createSystemClock, StorageBatch } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { streamsLimits } from '../limits.js';
import { jsonCodec } from '../state/json-codec.js';
import { groupOf } from '../state/key.js';
import { aggregate } from '../state/state-backend.js';
import { createStateSchema } from '../state/state-schema.js';
import { RemoteCells } from '../workers/workers-engine.js';
import { MemoryStates } from './memory-states.js';

const KEY_GROUPS = 64;
/** So large that some groups are due for a rewrite again before all have been rewritten once. */
const BASE = 'x'.repeat(500_000);
const EPOCHS = streamsLimits.segmentsMax.value + 4;
/** For the changes and the table. */
const OTHER_BYTES = 64 * 1024;

test('no epoch rewrites more than allowed, although all groups change in each', async () => {
  const schema = createStateSchema('texts', aggregate(jsonCodec<unknown>()), KEY_GROUPS) as never;
  const storage = createMemoryStorage();
  const states = new MemoryStates(storage, createSystemClock());
  const cells = await states.open({ schema, storedAs: 'texts', migrateFrom: [] }, undefined);
  const byGroup: number[][] = Array.from({ length: KEY_GROUPS }, () => []);
  for (let key = 0; byGroup.some(({ length }) => length < 2); key += 1) {
    byGroup[groupOf(key, KEY_GROUPS)]?.push(key);
  }
  for (const [key = 0, small = 0] of byGroup) {
    cells.insert(key, BASE, undefined);
    cells.insert(small, 0, undefined);
  }
  const bytes: number[] = [];
  for (let epoch = 1; epoch <= EPOCHS; epoch += 1) {
    for (const [, small = 0] of byGroup) cells.change(cells.edit(small), epoch, undefined);
    const batch = new StorageBatch();
    states.capture();
    await states.encode(batch, epoch);
    await storage.write(batch, { durability: 'synced' });
    await states.settle();
    bytes.push(batch.bytes);
  }
  expect(Math.max(...bytes.slice(1))).toBeLessThan(
    streamsLimits.segmentMergeBytesMax.value + OTHER_BYTES,
  );
});

test('segments that workers have encoded are copied in slices', async () => {
  const schema = createStateSchema('texts', aggregate(jsonCodec<unknown>()), KEY_GROUPS) as never;
  let turns = 0;
  const defer = (callback: () => void) => {
    turns += 1;
    setImmediate(callback);
    return { cancel() {} };
  };
  const remote = new RemoteCells(schema);
  const cells = new Map([['texts', remote]]);
  const states = new MemoryStates(createMemoryStorage(), { defer }, cells);
  await states.open({ schema, storedAs: 'texts', migrateFrom: [] }, undefined);
  const bytes = new Uint8Array(streamsLimits.sliceBytesMax.value);
  const segments = Array.from({ length: KEY_GROUPS }, (_, group) => group);
  remote.segments = segments.map((group) => ({ group, bytes, entries: 1, crc: 0, holds: 'all' }));
  states.capture();
  await states.encode(new StorageBatch(), 1);
  expect(turns).toBeGreaterThanOrEqual(KEY_GROUPS - 1);
});

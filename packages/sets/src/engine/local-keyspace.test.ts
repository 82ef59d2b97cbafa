// The keyspace as commands use it, within a turn: removed members are still in memory until it ends.
import {
  createSystemClock,
  createSystemRandom,
  SynclineError,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import { expect, test } from 'vitest';
import { ByteList } from '../byte-list.js';
import type { VisitBytes } from '../keyspace.js';
import type { EngineLimits } from '../limits.js';
import { SetsEngine } from './engine.js';

const list = (...texts: readonly string[]) =>
  ByteList.of(...texts.map((text) => Buffer.from(text)));

/** In memory only. */
async function openKeyspace(limits: Partial<EngineLimits> = {}) {
  const engine = new SetsEngine(
    {
      files: undefined,
      clock: createSystemClock(),
      random: createSystemRandom(),
      logger: silentLogger,
      metrics: silentMetrics,
    },
    { nodeId: 1, clusterId: 'test', durability: 'buffered', memoryBytesMax: 0, limits },
  );
  await engine.open();
  await engine.load();
  return { engine, keyspace: engine.keyspace };
}

function collect(read: (visit: VisitBytes) => void): string[] {
  const found: string[] = [];
  read((buffer, start, end) => found.push(Buffer.from(buffer.subarray(start, end)).toString()));
  return found;
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => `m${index}`);

test('picks, walks and pages show members only, though removed ones are still in memory', async () => {
  const { keyspace } = await openKeyspace();
  keyspace.add(list('a', ...numbers(100)), 0, 1);
  keyspace.remove(list('a', ...numbers(95)), 0, 1);
  const left = ['m95', 'm96', 'm97', 'm98', 'm99'];
  const key = list('a');
  expect(collect((visit) => keyspace.forEach(key, 0, visit)).sort()).toEqual(left);
  expect(collect((visit) => keyspace.sample(key, 0, 9, visit)).sort()).toEqual(left);
  expect(new Set(collect((visit) => keyspace.sample(key, 0, 3, visit))).size).toBe(3);
  const draws = collect((visit) => keyspace.draw(key, 0, 200, visit));
  expect([draws.length, [...new Set(draws)].sort()]).toEqual([200, left]);
  const pages: string[] = [];
  let position = 0;
  do {
    const from = { position, count: 2 };
    pages.push(...collect((visit) => (position = keyspace.scan(key, 0, from, visit))));
  } while (position !== 0);
  expect(pages.sort()).toEqual(left);
  const popped = collect((visit) => keyspace.pop(key, 0, 2, visit));
  expect([new Set(popped).size, keyspace.cardinality(key, 0)]).toEqual([2, 3]);
  expect([keyspace.clear(key, 0), keyspace.cardinality(key, 0)]).toEqual([3, 0]);
});

test('a change that is too large for an operation changes nothing', async () => {
  const { keyspace } = await openKeyspace();
  const large = ByteList.of(
    Buffer.from('a'),
    ...numbers(90).map((text) => Buffer.alloc(60_000, text)),
  );
  expect(() => keyspace.add(large, 0, 1)).toThrow('larger than one operation');
  expect([keyspace.cardinality(large, 0), keyspace.lastCounter()]).toEqual([0, 0]);
  keyspace.begin();
  keyspace.add(list('b', 'x'), 0, 1);
  expect(() => keyspace.add(large, 0, 1)).toThrow(SynclineError);
  keyspace.abandon();
  expect([keyspace.cardinality(list('b'), 0), keyspace.lastCounter()]).toEqual([0, 0]);
  expect(keyspace.add(list('b', 'x'), 0, 1)).toBe(1);
});

test('a watcher is touched by a change of the members, and not by a new dot', async () => {
  const { keyspace } = await openKeyspace();
  keyspace.add(list('a', 'x'), 0, 1);
  const watcher = { isTouched: false };
  keyspace.watch(list('a'), 0, watcher);
  keyspace.add(list('a', 'x'), 0, 1);
  keyspace.add(list('b', 'x'), 0, 1);
  expect(watcher.isTouched).toBe(false);
  keyspace.remove(list('a', 'x'), 0, 1);
  expect(watcher.isTouched).toBe(true);
  watcher.isTouched = false;
  keyspace.unwatch(watcher);
  keyspace.add(list('a', 'x'), 0, 1);
  expect(watcher.isTouched).toBe(false);
});

test('an operation that is abandoned or changes nothing has touched no watcher', async () => {
  const { keyspace } = await openKeyspace();
  const [early, late] = [{ isTouched: false }, { isTouched: false }];
  keyspace.watch(list('a'), 0, early);
  keyspace.watch(list('b'), 0, late);
  keyspace.add(list('a', 'x'), 0, 1);
  keyspace.begin();
  keyspace.add(list('a', 'y'), 0, 1);
  keyspace.add(list('b', 'y'), 0, 1);
  expect([early.isTouched, late.isTouched]).toEqual([true, true]);
  keyspace.abandon();
  expect([early.isTouched, late.isTouched]).toEqual([true, false]);
  keyspace.begin();
  keyspace.add(list('b', 'y'), 0, 1);
  keyspace.remove(list('b', 'y'), 0, 1);
  keyspace.end();
  expect([early.isTouched, late.isTouched]).toEqual([true, false]);
});

test('S16 looking up absent names leaves nothing behind', async () => {
  const { engine, keyspace } = await openKeyspace();
  const { usedBytes } = engine.state;
  for (const name of numbers(1_000)) {
    expect(keyspace.cardinality(list(name), 0)).toBe(0);
    expect(keyspace.has(list(name, 'x'), 0, 1)).toBe(false);
    expect(keyspace.remove(list(name, 'x'), 0, 1)).toBe(0);
    const watcher = { isTouched: false };
    keyspace.watch(list(name), 0, watcher);
    keyspace.unwatch(watcher);
  }
  expect([engine.state.sets.size, keyspace.lastCounter()]).toEqual([0, 0]);
  expect(engine.state.usedBytes - usedBytes).toBeLessThan(1_024);
});

test('reads wait for a version without being woken by others', async () => {
  const { keyspace } = await openKeyspace();
  const never = new AbortController().signal;
  keyspace.add(list('a', 'x'), 0, 1);
  const version = keyspace.version();
  await keyspace.whenApplied(version, never);
  const [{ actor, counter } = { actor: 0, counter: 0 }] = version.entries();
  const later = version.copy();
  later.advance(actor as Parameters<typeof later.advance>[0], counter + 2);
  let isApplied = false;
  const applied = keyspace.whenApplied(later, never).then(() => {
    isApplied = true;
  });
  const leaver = new AbortController();
  const left = keyspace.whenApplied(later, leaver.signal);
  leaver.abort();
  await expect(left).rejects.toMatchObject({ code: 'aborted' });
  keyspace.add(list('a', 'y'), 0, 1);
  await new Promise((resolve) => setImmediate(resolve));
  expect(isApplied).toBe(false);
  keyspace.add(list('a', 'z'), 0, 1);
  await applied;
});

test('S22 where nothing can be changed, EXEC ends its transaction', async () => {
  const { keyspace } = await openKeyspace();
  const error = new SynclineError('storage-full', 'no room to store the epoch');
  keyspace.refuseWrites(error);
  // It must not throw: EXEC ends its transaction only after this promise.
  await expect(keyspace.admitWrite()).rejects.toBe(error);
  keyspace.refuseWrites(undefined);
  expect(keyspace.admitWrite()).toBeUndefined();
});

test('S20 reading a set through a broken pin fails, instead of showing it as empty', async () => {
  const { engine, keyspace } = await openKeyspace({ pinEntriesMax: 2 });
  const key = list('a', ...numbers(10));
  keyspace.add(key, 0, 1);
  using pin = keyspace.openPin([key.bytes(0)]);
  keyspace.remove(key, 0, 1);
  engine.turns.commitNow();
  const walk = pin.members(key.bytes(0))[Symbol.asyncIterator]();
  await expect(walk.next()).rejects.toMatchObject({ code: 'overloaded' });
  expect(() => pin.cardinality(key.bytes(0))).toThrow(/changed too much/);
});

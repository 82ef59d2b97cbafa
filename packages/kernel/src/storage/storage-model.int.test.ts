// Random operations on a store and on a plain model: reads must always agree, including old snapshots and, for a
// store on disk, after it was closed and reopened.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '../logger.js';
import { createSystemClock } from '../system-clock.js';
import { openLevelStorage } from './level-storage.js';
import { createMemoryStorage } from './memory-storage.js';
import type { Storage, StorageReads, StorageSnapshot } from './storage.js';
import { StorageBatch } from './storage-batch.js';

/** Few bytes and short keys, so that operations collide; including bytes that would sort wrongly if signed. */
const key = fc.array(fc.constantFrom(0, 1, 97, 127, 128, 255), { maxLength: 3 });
const change = fc.record({ key, value: fc.option(fc.uint8Array({ maxLength: 20 })) });
const batch = fc.array(change, { maxLength: 12 });
const range = fc.record(
  { from: key, to: key, reverse: fc.boolean(), limit: fc.nat(12) },
  { requiredKeys: [] },
);
const operation = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('write'),
      batches: fc.array(batch, { minLength: 1, maxLength: 4 }),
      isSynced: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('read'), range }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('snapshot') }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('read-snapshot'), index: fc.nat(5), range }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen') }) },
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;
type Range = typeof range extends fc.Arbitrary<infer T> ? T : never;
type Batch = typeof batch extends fc.Arbitrary<infer T> ? T : never;

/** Key in latin1, which sorts like bytes, to value. */
type Model = ReadonlyMap<string, string>;

interface Held {
  readonly snapshot: StorageSnapshot;
  readonly model: Model;
}

class Run {
  storage: Storage;
  readonly #reopen: ((storage: Storage) => Promise<Storage>) | undefined;
  #model: Model = new Map();
  #held: Held[] = [];

  constructor(storage: Storage, reopen?: (storage: Storage) => Promise<Storage>) {
    this.storage = storage;
    this.#reopen = reopen;
  }

  async apply(action: Operation): Promise<void> {
    switch (action.kind) {
      case 'write':
        return this.#write(action.batches, action.isSynced);
      case 'read':
        return check(this.storage, this.#model, action.range);
      case 'snapshot':
        this.#held.push({ snapshot: this.storage.snapshot(), model: this.#model });
        return;
      case 'read-snapshot': {
        const held = this.#held[action.index % Math.max(this.#held.length, 1)];
        return held && check(held.snapshot, held.model, action.range);
      }
      case 'reopen':
        if (!this.#reopen) return;
        this.#held = [];
        this.storage = await this.#reopen(this.storage);
        return check(this.storage, this.#model, {});
    }
  }

  /** All batches are called before the first has settled. */
  async #write(batches: readonly Batch[], isSynced: boolean): Promise<void> {
    const model = new Map(this.#model);
    const writes = batches.map((changes) => {
      const toWrite = new StorageBatch();
      for (const { key: name, value } of changes) {
        if (value) toWrite.put(Uint8Array.from(name), value);
        else toWrite.delete(Uint8Array.from(name));
        if (value) model.set(latin1(name), latin1(value));
        else model.delete(latin1(name));
      }
      return this.storage.write(toWrite, { durability: isSynced ? 'synced' : 'buffered' });
    });
    this.#model = model;
    await Promise.all(writes);
  }
}

async function check(reads: StorageReads, model: Model, asked: Range): Promise<void> {
  const { from, to, reverse, limit } = asked;
  const expected = [...model]
    .filter(([name]) => from === undefined || name >= latin1(from))
    .filter(([name]) => to === undefined || name < latin1(to))
    .sort(([left], [right]) => (left < right ? -1 : 1));
  if (reverse) expected.reverse();
  const read = [];
  const options = {
    ...asked,
    ...(from && { from: Uint8Array.from(from) }),
    ...(to && { to: Uint8Array.from(to) }),
  } as Parameters<StorageReads['range']>[0];
  for await (const entry of reads.range(options))
    read.push([latin1(entry.key), latin1(entry.value)]);
  expect(read).toEqual(expected.slice(0, limit));
  for (const name of [[], [97], [255], [0, 128]]) {
    const value = reads.get(Uint8Array.from(name));
    expect(value && latin1(value)).toBe(model.get(latin1(name)));
  }
}

function latin1(bytes: ArrayLike<number>): string {
  return String.fromCharCode(...Array.from(bytes));
}

describe('random operations give the same reads as a plain model', () => {
  const operations = fc.array(operation, { maxLength: 40 });

  it('K10 to K14 in memory', async () => {
    const property = fc.asyncProperty(operations, async (actions) => {
      const run = new Run(createMemoryStorage());
      for (const action of actions) await run.apply(action);
    });
    await fc.assert(property, { numRuns: 300 });
  });

  it('K10 to K14 in LevelDB, with reopenings', async () => {
    const deps = { clock: createSystemClock(), logger: silentLogger };
    const property = fc.asyncProperty(operations, async (actions) => {
      const directory = await mkdtemp(join(tmpdir(), 'syncline-model-'));
      const run = new Run(await openLevelStorage(deps, { directory }), async (storage) => {
        await storage.close();
        return openLevelStorage(deps, { directory });
      });
      try {
        for (const action of actions) await run.apply(action);
      } finally {
        await run.storage.close();
        await rm(directory, { recursive: true });
      }
    });
    await fc.assert(property, { numRuns: 40 });
  });
});

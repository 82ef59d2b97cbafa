import {
  createMemoryStorage,
  randomBelow,
  type Storage,
  StorageBatch,
  SynclineError,
} from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import { stateStoreSuite } from '../conformance/state-store-suite.js';
import { bytesCodec, numberCodec, stringCodec } from '../state/codec.js';
import { aggregate, versioned } from '../state/state-backend.js';
import { type EmbeddedStateOptions, embeddedState } from './embedded-state.js';

const counts = aggregate(numberCodec);
const texts = versioned(stringCodec, 'number');
const SYNCED = { durability: 'synced' } as const;

function suiteWith(options: EmbeddedStateOptions): void {
  const create = async () => {
    const storage = createMemoryStorage();
    let store = embeddedState(storage, options);
    return {
      store,
      async reopen() {
        await store.flush();
        store = embeddedState(storage, options);
        return store;
      },
      [Symbol.asyncDispose]: () => storage.close(),
    };
  };
  for (const { name, run } of stateStoreSuite(create, { isPersistent: true })) test(name, run);
}

describe('X14 the embedded backend is a state store', () => {
  suiteWith({});
});

/** A memory storage whose writes can be delayed, or made to fail. */
class HeldStorage {
  readonly storage: Storage;
  readonly batches: StorageBatch[] = [];
  failure: SynclineError | undefined;
  #release: (() => void) | undefined;
  #isHeld = false;

  constructor() {
    const memory = createMemoryStorage();
    this.storage = Object.create(memory, {
      get: { value: memory.get.bind(memory) },
      range: { value: memory.range.bind(memory) },
      snapshot: { value: memory.snapshot.bind(memory) },
      write: {
        value: async (batch: StorageBatch) => {
          this.batches.push(batch);
          if (this.#isHeld) await new Promise<void>((resolve) => (this.#release = resolve));
          if (this.failure !== undefined) throw this.failure;
          await memory.write(batch, SYNCED);
        },
      },
    }) as Storage;
  }

  hold(): void {
    this.#isHeld = true;
  }

  async letGo(): Promise<void> {
    while (this.#release === undefined) await new Promise((resolve) => setImmediate(resolve));
    this.#isHeld = false;
    this.#release();
    this.#release = undefined;
  }
}

describe('X23 flush', () => {
  test('writes the changes of all states in one synced batch, and nothing twice', async () => {
    const held = new HeldStorage();
    const store = embeddedState(held.storage);
    const totals = await store.open('totals', counts);
    const newest = await store.open('newest', texts);
    await store.flush();
    expect(held.batches).toHaveLength(0);
    totals.update('a', () => 1);
    newest.put('a', 'value', 1);
    newest.delete('b', 1);
    await store.flush();
    await store.flush();
    const keys = held.batches.map(({ operations }) =>
      operations.map(({ key }) =>
        Buffer.from(key)
          .toString('latin1')
          .replace(/\/....\//, '/#/'),
      ),
    );
    const kv = (uid: string, key: string) => `kv/${uid}/#/\x04${key}`;
    expect(keys).toEqual([
      [
        ...[kv('totals', 'a'), 'op/totals'],
        ...[kv('newest', 'a'), kv('newest', 'b'), 'gone/newest/\x04b', 'op/newest'],
      ],
    ]);
  });

  test('stores the state at the time of the call, not what is written while it runs', async () => {
    const held = new HeldStorage();
    const store = embeddedState(held.storage);
    const state = await store.open('s', counts);
    for (const key of ['changed', 'removed', 'untouched']) state.update(key, () => 1);
    held.hold();
    const flushing = store.flush();
    state.update('changed', () => 2);
    state.update('removed', () => undefined);
    state.update('new', () => 2);
    expect([state.get('changed'), state.get('removed'), state.get('new')]).toEqual([
      2,
      undefined,
      2,
    ]);
    await held.letGo();
    await flushing;
    const crashed = await embeddedState(held.storage).open('s', counts);
    const read = (from: typeof state) =>
      ['changed', 'removed', 'untouched', 'new'].map((key) => from.get(key));
    expect(read(crashed)).toEqual([1, 1, 1, undefined]);
    expect(read(state)).toEqual([2, undefined, 1, 2]);
    await store.flush();
    const restarted = await embeddedState(held.storage).open('s', counts);
    expect(read(restarted)).toEqual([2, undefined, 1, 2]);
    expect(await restarted.snapshot()).toEqual(await state.snapshot());
  });

  test('that fails loses nothing: the next one writes everything', async () => {
    const held = new HeldStorage();
    const store = embeddedState(held.storage);
    const state = await store.open('s', texts);
    state.put('kept', 'first', 1);
    state.put('changed', 'first', 1);
    state.delete('gone', 1);
    held.failure = new SynclineError('storage-full', 'no room');
    held.hold();
    const failing = store.flush();
    state.put('changed', 'second', 2);
    const alsoFailing = store.flush();
    await held.letGo();
    await expect(failing).rejects.toMatchObject({ code: 'storage-full' });
    await expect(alsoFailing).rejects.toMatchObject({ code: 'storage-full' });
    expect(state.get('kept')?.value).toBe('first');
    held.failure = undefined;
    state.put('changed', 'third', 3);
    await store.flush();
    const restarted = await embeddedState(held.storage).open('s', texts);
    expect([restarted.get('kept'), restarted.get('changed')]).toEqual([
      { value: 'first', version: 1 },
      { value: 'third', version: 3 },
    ]);
    expect(restarted.prune(1)).toBe(1);
    state.prune(1);
    expect(await restarted.snapshot()).toEqual(await state.snapshot());
  });

  test('keeps the index of tombstones up to date', async () => {
    const storage = createMemoryStorage();
    const store = embeddedState(storage);
    const state = await store.open('s', texts);
    const indexed = async () => {
      await store.flush();
      const keys: string[] = [];
      for await (const { key } of storage.range({
        from: Buffer.from('gone/'),
        to: Buffer.from('h'),
      })) {
        keys.push(Buffer.from(key).toString('latin1'));
      }
      return keys.map((key) => key.slice('gone/s/\x04'.length)).join(' ');
    };
    for (const [version, key] of ['a', 'b', 'c'].entries()) state.delete(key, version);
    expect(await indexed()).toBe('a b c');
    state.put('b', 'back', 5);
    expect(await indexed()).toBe('a c');
    state.prune(0);
    state.delete('d', 9);
    expect(await indexed()).toBe('c d');
    await state.restore(await state.snapshot());
    expect(await indexed()).toBe('c d');
  });

  test('restoring one state stores the changes of the others in the same batch', async () => {
    const held = new HeldStorage();
    const store = embeddedState(held.storage);
    const state = await store.open('s', counts);
    const other = await store.open('other', counts);
    const empty = await state.snapshot();
    state.update('a', () => 1);
    other.update('a', () => 1);
    await state.restore(empty);
    expect(held.batches).toHaveLength(1);
    const restarted = embeddedState(held.storage);
    expect((await restarted.open('s', counts)).get('a')).toBeUndefined();
    expect((await restarted.open('other', counts)).get('a')).toBe(1);
  });

  test('after a restore that failed, the state is as before', async () => {
    const held = new HeldStorage();
    const store = embeddedState(held.storage);
    const state = await store.open('s', counts);
    const empty = await state.snapshot();
    state.update('a', () => 1);
    held.failure = new SynclineError('storage-full', 'no room');
    await expect(state.restore(empty)).rejects.toMatchObject({ code: 'storage-full' });
    held.failure = undefined;
    expect(state.update('a', (n = 0) => n + 1)).toBe(2);
    await store.flush();
    expect((await embeddedState(held.storage).open('s', counts)).get('a')).toBe(2);
  });
});

describe('X25 the cache', () => {
  test('evicts clean cells, and reads them again when they are needed', async () => {
    const store = embeddedState(createMemoryStorage(), { cacheBytesMax: 20_000 });
    const state = await store.open('s', counts);
    for (let key = 0; key < 2_000; key += 1) {
      state.update(key, () => key);
      if (key % 10 === 9) await store.flush();
    }
    for (let key = 0; key < 2_000; key += 1) expect(state.get(key)).toBe(key);
  });

  test('behaves like a map while it holds a third of the keys', async () => {
    const random = createSeededRandom('cache');
    const store = embeddedState(createMemoryStorage(), { cacheBytesMax: 24_000 });
    const states = [await store.open('s', counts), await store.open('other', counts)];
    const models = [new Map<number, number>(), new Map<number, number>()];
    for (let step = 0; step < 5_000; step += 1) {
      const which = randomBelow(random, 2);
      const [state, model] = [states[which], models[which]];
      const key = randomBelow(random, 100);
      if (random.float() < 0.5) expect(state?.get(key)).toBe(model?.get(key));
      else {
        model?.set(key, step);
        state?.update(key, () => step);
      }
      if (step % 40 === 0) await store.flush();
    }
  });

  test('refuses writes when unflushed changes fill it, and accepts them after a flush', async () => {
    const store = embeddedState(createMemoryStorage(), { cacheBytesMax: 100_000 });
    const state = await store.open('s', aggregate(bytesCodec));
    const other = await store.open('other', counts);
    const written = new Map<number, number>();
    const write = (key: number) => state.update(key, () => new Uint8Array(1_000).fill(key));
    const fill = () => {
      for (let key = 0; ; key += 1) {
        write(key);
        written.set(key, key);
      }
    };
    const full = expect.objectContaining({
      code: 'limit-exceeded',
      details: { limit: 'cacheBytesMax' },
    });
    expect(fill).toThrow(full);
    expect(written.size).toBeGreaterThan(20);
    expect(() => other.update('a', () => 1)).not.toThrow(); // a small one still fits
    expect(state.get(written.size)).toBeUndefined();
    await store.flush();
    write(written.size);
    for (const [key] of written) expect(state.get(key)?.[999]).toBe(key);
  });

  test('refuses to merge more than fits, completely', async () => {
    const source = await embeddedState(createMemoryStorage()).open('s', aggregate(bytesCodec));
    for (let key = 0; key < 100; key += 1) source.update(key, () => new Uint8Array(1_000));
    const snapshot = await source.snapshot();
    const store = embeddedState(createMemoryStorage(), { cacheBytesMax: 100_000 });
    const state = await store.open('s', aggregate(bytesCodec));
    await expect(state.restoreKeys(snapshot)).rejects.toMatchObject({ code: 'limit-exceeded' });
    expect(state.get(0)).toBeUndefined();
    await state.restore(snapshot); // it goes past the cache
    expect(state.get(99)).toHaveLength(1_000);
  });

  test('holds as many tombstones as its limit allows', async () => {
    const store = embeddedState(createMemoryStorage(), { tombstonesMax: 3 });
    const state = await store.open('s', texts);
    for (const [version, key] of ['a', 'b', 'c'].entries()) state.delete(key, version);
    expect(() => state.delete('d', 9)).toThrow(
      expect.objectContaining({ code: 'limit-exceeded', details: { limit: 'tombstonesMax' } }),
    );
    expect(state.delete('a', 5)).toBe('applied'); // it is one already
    expect(state.prune(1)).toBe(1);
    expect(state.delete('d', 9)).toBe('applied');
  });
});

describe('X24 damaged entries on disk', () => {
  /** A storage with a state of 50 keys and a tombstone. */
  async function stored(): Promise<Storage> {
    const storage = createMemoryStorage();
    const store = embeddedState(storage);
    const state = await store.open('s', texts);
    for (let key = 0; key < 50; key += 1) state.put(`key-${key}`, `value ${key}`, 1);
    state.delete('gone', 1);
    await store.flush();
    return storage;
  }
  async function entriesOf(storage: Storage, prefix: string) {
    const found: { key: Uint8Array; value: Uint8Array }[] = [];
    for await (const entry of storage.range()) {
      const [key, value] = [Uint8Array.from(entry.key), Uint8Array.from(entry.value)];
      if (Buffer.from(key).toString('latin1').startsWith(prefix)) found.push({ key, value });
    }
    return found;
  }

  test('any changed byte of an entry is corrupt when it is read', async () => {
    const storage = await stored();
    const [first] = await entriesOf(storage, 'kv/s/');
    if (first === undefined) throw new Error('nothing is stored');
    const key = Buffer.from(first.key.subarray('kv/s/0000/.'.length)).toString();
    for (const [at, byte] of first.value.entries()) {
      const damaged = first.value.slice();
      damaged[at] = byte ^ 0x04;
      await storage.write(new StorageBatch().put(first.key, damaged), SYNCED);
      const state = await embeddedState(storage).open('s', texts);
      expect(() => state.get(key), `byte ${at}`).toThrow(
        expect.objectContaining({ code: 'corrupt' }),
      );
      await expect(state.snapshot()).rejects.toMatchObject({ code: 'corrupt' });
    }
  });

  test('an entry under the key of another one is corrupt', async () => {
    const storage = await stored();
    const [first, second] = await entriesOf(storage, 'kv/s/');
    if (first === undefined || second === undefined) throw new Error('nothing is stored');
    await storage.write(new StorageBatch().put(first.key, second.value), SYNCED);
    const state = await embeddedState(storage).open('s', texts);
    const key = Buffer.from(first.key.subarray('kv/s/0000/.'.length)).toString();
    expect(() => state.get(key)).toThrow(expect.objectContaining({ code: 'corrupt' }));
  });

  test('a lost or an added entry is detected when the whole state is read', async () => {
    for (const index of [0, 17, 50]) {
      const storage = await stored();
      const lost = (await entriesOf(storage, 'kv/s/'))[index];
      if (lost === undefined) throw new Error('nothing is stored');
      await storage.write(new StorageBatch().delete(lost.key), SYNCED);
      const store = embeddedState(storage);
      const state = await store.open('s', texts);
      await expect(state.snapshot()).rejects.toMatchObject({ code: 'corrupt' });
      state.put('another', 'value', 1);
      await store.flush();
      await expect(state.snapshot()).rejects.toMatchObject({ code: 'corrupt' });
    }
  });

  test('an older entry that came back is detected when the whole state is read', async () => {
    const storage = await stored();
    const before = await entriesOf(storage, 'kv/s/');
    const store = embeddedState(storage);
    const state = await store.open('s', texts);
    for (let key = 0; key < 50; key += 1) state.put(`key-${key}`, `newer ${key}`, 2);
    await store.flush();
    const old = before[5];
    if (old === undefined) throw new Error('nothing is stored');
    await storage.write(new StorageBatch().put(old.key, old.value), SYNCED);
    await expect(state.snapshot()).rejects.toMatchObject({ code: 'corrupt' });
  });

  test('a damaged or lost table keeps the state closed', async () => {
    const storage = await stored();
    const [table] = await entriesOf(storage, 'op/s');
    if (table === undefined) throw new Error('nothing is stored');
    for (const at of [0, 40, table.value.length - 1]) {
      const damaged = table.value.slice();
      damaged[at] = (damaged[at] ?? 0) ^ 1;
      await storage.write(new StorageBatch().put(table.key, damaged), SYNCED);
      await expect(embeddedState(storage).open('s', texts)).rejects.toMatchObject({
        code: 'corrupt',
      });
    }
    await storage.write(new StorageBatch().delete(table.key), SYNCED);
    const store = embeddedState(storage);
    await expect(store.open('s', texts)).rejects.toMatchObject({ code: 'corrupt' });
    await storage.write(new StorageBatch().put(table.key, table.value), SYNCED);
    expect((await store.open('s', texts)).get('key-1')?.value).toBe('value 1');
  });

  test('a lost tombstone index affects pruning, never a value', async () => {
    const storage = await stored();
    const [mark] = await entriesOf(storage, 'gone/s/');
    if (mark === undefined) throw new Error('nothing is stored');
    const stray = Buffer.from('gone/s/\x04key-1');
    await storage.write(new StorageBatch().delete(mark.key).put(stray, mark.value), SYNCED);
    const state = await embeddedState(storage).open('s', texts);
    expect(state.prune(1)).toBe(0);
    expect(state.get('key-1')?.value).toBe('value 1');
    expect(state.put('gone', 'late', 0)).toBe('older');
  });
});

test('a state cannot be opened with another number of key groups', async () => {
  const storage = createMemoryStorage();
  const store = embeddedState(storage, { keyGroups: 16 });
  (await store.open('s', counts)).update('a', () => 1);
  await store.flush();
  await expect(embeddedState(storage).open('s', counts)).rejects.toMatchObject({
    code: 'incompatible',
    details: { field: 'key groups', expected: 128, found: 16 },
  });
});

test('states whose uids have a common prefix do not mix', async () => {
  const storage = createMemoryStorage();
  const store = embeddedState(storage);
  const uids = ['a', 'a-b', 'ab', 'a0'];
  for (const [index, uid] of uids.entries()) {
    (await store.open(uid, counts)).update('key', () => index);
  }
  await store.flush();
  const again = embeddedState(storage);
  for (const [index, uid] of uids.entries()) {
    const state = await again.open(uid, counts);
    expect(state.get('key')).toBe(index);
    await state.restore(
      await (await embeddedState(createMemoryStorage()).open('s', counts)).snapshot(),
    );
    expect(state.get('key')).toBeUndefined();
  }
});

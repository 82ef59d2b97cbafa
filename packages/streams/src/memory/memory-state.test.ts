import { describe, expect, test } from 'vitest';
import { stateStoreSuite } from '../conformance/state-store-suite.js';
import type { Codec } from '../state/codec.js';
import { numberCodec, stringCodec } from '../state/codec.js';
import { jsonCodec } from '../state/json-codec.js';
import { aggregate, versioned } from '../state/state-backend.js';
import { memoryState } from './memory-state.js';

describe('X14 the memory backend is a state store', () => {
  const create = async () => ({ store: memoryState(), [Symbol.asyncDispose]: async () => {} });
  for (const { name, run } of stateStoreSuite(create, { isPersistent: false })) test(name, run);
});

/** A clock whose turns are taken by hand. */
class ManualTurns {
  #waiting: (() => void)[] = [];

  defer(callback: () => void) {
    this.#waiting.push(callback);
    return { cancel() {} };
  }

  /** Runs one slice of whatever waits. False if nothing does. */
  async next(): Promise<boolean> {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const callback of waiting) callback();
    await new Promise((resolve) => setImmediate(resolve));
    return waiting.length > 0;
  }

  async all(): Promise<void> {
    while (await this.next());
  }
}

describe('X22 a snapshot that is encoded in slices', () => {
  const keys = Array.from({ length: 12_000 }, (_, index) => index); // several slices

  test('holds what was there at the call, wherever writes come in between', async () => {
    for (const slicesBefore of [0, 1, 2, 4]) {
      const turns = new ManualTurns();
      const state = await memoryState({}, { clock: turns }).open('s', aggregate(numberCodec));
      for (const key of keys) state.update(key, () => 1);
      const expected = await completed(state.snapshot(), turns);
      const running = state.snapshot();
      for (let slice = 0; slice < slicesBefore; slice += 1) await turns.next();
      for (const key of keys) state.update(key, (n = 0) => (key % 3 === 0 ? undefined : n + 1));
      for (const key of keys) state.update(key + keys.length, () => 5);
      await turns.next();
      for (const key of keys) state.update(key, (n = 0) => n + 10); // removed ones come back
      const snapshot = await completed(running, turns);
      expect(Buffer.compare(snapshot, expected), `${slicesBefore} slices before`).toBe(0);
      expect([state.get(0), state.get(1), state.get(23_999)]).toEqual([10, 12, 5]);
    }
  });

  test('takes its turns with others: no slice has more than 2,048 entries', async () => {
    const turns = new ManualTurns();
    const state = await memoryState({}, { clock: turns }).open('s', aggregate(numberCodec));
    for (let key = 0; key < 40_000; key += 1) state.update(key, () => 1);
    const running = state.snapshot();
    let slices = 0;
    while (await turns.next()) slices += 1;
    await running;
    expect(slices).toBe(24); // 40,000 keys are grouped, each a quarter of an entry, then encoded
  });

  test('is not changed by a function that modifies the value in place', async () => {
    const turns = new ManualTurns();
    const store = memoryState({}, { clock: turns });
    const state = await store.open('s', aggregate(jsonCodec<number[]>()));
    const push = (list: number[] = []) => {
      list.push(1);
      return list;
    };
    for (const key of keys) state.update(key, push);
    const expected = await completed(state.snapshot(), turns);
    const running = state.snapshot();
    for (const key of keys) state.update(key, push);
    expect(Buffer.compare(await completed(running, turns), expected)).toBe(0);
  });

  test('is finished at once when another one starts', async () => {
    const turns = new ManualTurns();
    const state = await memoryState({}, { clock: turns }).open('s', aggregate(numberCodec));
    for (const key of keys) state.update(key, () => 1);
    const first = state.snapshot();
    state.update(0, () => 2);
    const second = state.snapshotForKeys([0, 1]);
    state.update(1, () => 2);
    await turns.all();
    const copy = await memoryState().open('s', aggregate(numberCodec));
    await copy.restore(await first);
    expect([copy.get(0), copy.get(1), copy.get(2)]).toEqual([1, 1, 1]);
    const some = await memoryState().open('s', aggregate(numberCodec));
    await some.restoreKeys(await second);
    expect([some.get(0), some.get(1), some.get(2)]).toEqual([2, 1, undefined]);
  });

  test('goes on while the state is restored to something else', async () => {
    const turns = new ManualTurns();
    const state = await memoryState({}, { clock: turns }).open('s', aggregate(numberCodec));
    const empty = await state.snapshot();
    for (const key of keys) state.update(key, () => 1);
    const full = await completed(state.snapshot(), turns);
    const restoring = state.restore(full);
    const running = state.snapshot();
    await completed(restoring, turns);
    for (const key of keys) state.update(key, () => 2);
    expect(Buffer.compare(await completed(running, turns), full)).toBe(0);
    await completed(state.restore(empty), turns);
    expect(state.get(0)).toBeUndefined();
  });

  test('fails if a value cannot be encoded, and names the key; writing goes on', async () => {
    const fussy: Codec<string> = {
      ...stringCodec,
      encode(value) {
        if (value === 'bad') throw new RangeError('not this one');
        return Buffer.from(value);
      },
      check: () => undefined,
    };
    const state = await memoryState().open('s', versioned(fussy, 'number'));
    state.put('a', 'bad', 1);
    await expect(state.snapshot()).rejects.toMatchObject({
      code: 'bad-record',
      message: 'state "s", key "a": not this one',
    });
    const running = state.snapshot();
    state.put('a', 'good', 2);
    await expect(running).rejects.toMatchObject({ code: 'bad-record' });
    await expect(state.snapshot()).resolves.toBeDefined();
  });
});

async function completed<T>(work: Promise<T>, turns: ManualTurns): Promise<T> {
  await turns.all();
  return work;
}

test('a snapshot may have its limit in bytes and no more', async () => {
  const open = (snapshotBytesMax: number) =>
    memoryState({ snapshotBytesMax }).open('s', aggregate(stringCodec));
  const unlimited = await open(1 << 20);
  unlimited.update('a', () => 'value');
  const { length } = await unlimited.snapshot();
  for (const [bytesMax, isRefused] of [
    [length, false],
    [length - 1, true],
  ] as const) {
    const state = await open(bytesMax);
    state.update('a', () => 'value');
    const code = await state.snapshot().then(
      () => undefined,
      (thrown: { code: string; details: object }) => [thrown.code, thrown.details],
    );
    const refused = ['limit-exceeded', { limit: 'snapshotBytesMax' }];
    expect(code).toEqual(isRefused ? refused : undefined);
    expect(state.get('a')).toBe('value');
  }
});

test('slots of removed keys are used again', async () => {
  const state = await memoryState().open('s', aggregate(numberCodec));
  for (let round = 0; round < 50; round += 1) {
    for (let key = 0; key < 100; key += 1) state.update(`${round}/${key}`, () => round);
    for (let key = 0; key < 100; key += 1) state.update(`${round}/${key}`, () => undefined);
  }
  state.update('last', () => 1);
  const other = await memoryState().open('s', aggregate(numberCodec));
  other.update('last', () => 1);
  expect(await state.snapshot()).toEqual(await other.snapshot());
});

test('writing to a state that is being restored is a mistake of the caller', async () => {
  const state = await memoryState().open('s', aggregate(numberCodec));
  for (let key = 0; key < 5_000; key += 1) state.update(key, () => 1);
  const restoring = state.restore(await state.snapshot());
  expect(() => state.update(1, () => 2)).toThrow('while it is being restored');
  expect(() => state.update('new', () => 2)).toThrow('while it is being restored');
  await expect(state.restore(new Uint8Array(0))).rejects.toThrow('while it is being restored');
  await restoring;
  expect(state.update(1, (n = 0) => n + 1)).toBe(2);
});

test('a uid can be opened once', async () => {
  const store = memoryState();
  await store.open('s', aggregate(numberCodec));
  await expect(store.open('s', aggregate(numberCodec))).rejects.toThrow('already open');
});

test('the number of key groups has bounds', async () => {
  for (const keyGroups of [0, 1.5, 32_769]) {
    await expect(
      memoryState({ keyGroups }).open('s', aggregate(numberCodec)),
    ).rejects.toMatchObject({
      code: 'invalid-argument',
    });
  }
  await memoryState({ keyGroups: 32_768 }).open('s', aggregate(numberCodec));
});

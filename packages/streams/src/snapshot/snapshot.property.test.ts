// Damage of every kind to snapshots of every kind: it is refused, and the target stays as it was.
import { isDeepStrictEqual } from 'node:util';
import { createMemoryStorage } from '@syncline/kernel';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { embeddedState } from '../embedded/embedded-state.js';
import { memoryState } from '../memory/memory-state.js';
import { numberCodec, stringCodec } from '../state/codec.js';
import { jsonCodec } from '../state/json-codec.js';
import type { Key } from '../state/key.js';
import { aggregate, type Snapshots, type StateStore, versioned } from '../state/state-backend.js';

const keys: readonly Key[] = ['user-1', '', 42, -1, 7n, -(2n ** 200n), 'é', 'user-2'];

interface Subject {
  readonly state: Snapshots<Key>;
  /** What a reader sees of it. */
  read(): unknown;
}

/** Small states of each kind, so that each byte of a snapshot can be tried. */
const kinds: Readonly<Record<string, (store: StateStore) => Promise<Subject>>> = {
  async aggregate(store) {
    const state = await store.open('s', aggregate(numberCodec));
    for (const [index, key] of keys.entries()) state.update(key, () => index / 2);
    return { state, read: () => keys.map((key) => state.get(key)) };
  },
  async 'versioned by numbers'(store) {
    const state = await store.open('s', versioned(stringCodec, 'number'));
    for (const [index, key] of keys.entries()) state.put(key, `value ${index}`, index - 3);
    state.delete('user-2', 9);
    return { state, read: () => keys.map((key) => state.get(key)) };
  },
  async 'versioned by bigints'(store) {
    const state = await store.open('s', versioned(jsonCodec<object>(), 'bigint'));
    for (const [index, key] of keys.entries()) state.put(key, { index }, BigInt(index - 3));
    return { state, read: () => keys.map((key) => state.get(key)) };
  },
  async 'versioned by logical times'(store) {
    const state = await store.open('s', versioned(stringCodec, 'logical-time'));
    for (const [index, key] of keys.entries()) {
      state.put(key, `value ${index}`, { epoch: index, round: -index, origin: 'é', index: 300 });
    }
    return { state, read: () => keys.map((key) => state.get(key)) };
  },
};

const stores: Readonly<Record<string, () => StateStore>> = {
  memory: () => memoryState(),
  embedded: () => embeddedState(createMemoryStorage()),
};

/** Restores bytes that are not a snapshot into a state, and checks that they leave no trace. */
class Offers {
  readonly #subject: Subject;
  readonly #content: unknown;
  readonly snapshot: Uint8Array;

  private constructor(subject: Subject, snapshot: Uint8Array) {
    this.#subject = subject;
    this.#content = subject.read();
    this.snapshot = snapshot;
  }

  static async to(subject: Subject): Promise<Offers> {
    return new Offers(subject, await subject.state.snapshot());
  }

  /** The codes of the refusals, or `restored`. */
  async offer(bytes: Uint8Array): Promise<string> {
    const codes = new Set<string>();
    for (const restore of ['restore', 'restoreKeys'] as const) {
      const answer = this.#subject.state[restore](bytes).then(
        () => 'restored',
        (thrown: { code: string }) => thrown.code,
      );
      codes.add(await answer);
    }
    if (!isDeepStrictEqual(this.#subject.read(), this.#content)) codes.add('changed');
    return [...codes].join(' ');
  }

  /** The whole state, compared once for all attempts. */
  async expectUnchanged(): Promise<void> {
    const snapshot = await this.#subject.state.snapshot();
    expect(Buffer.compare(snapshot, this.snapshot)).toBe(0);
  }
}

describe.each(Object.entries(stores))('X4 X9 the %s backend', (_, createStore) => {
  describe.each(Object.entries(kinds))('%s', (__, open) => {
    test('refuses a snapshot with any one byte changed', async () => {
      const offers = await Offers.to(await open(createStore()));
      for (const [at, byte] of offers.snapshot.entries()) {
        const flip = [0x01, 0x80, 0xff][at % 3] ?? 0;
        const bytes = offers.snapshot.slice();
        bytes[at] = byte ^ flip;
        const isFormat = at === 8 || at === 9;
        const expected = isFormat ? ['corrupt', 'too-new'] : ['corrupt'];
        expect(expected, `byte ${at} ^ ${flip}`).toContain(await offers.offer(bytes));
      }
      await offers.expectUnchanged();
    });

    test('refuses every proper prefix of a snapshot, and anything appended to it', async () => {
      const offers = await Offers.to(await open(createStore()));
      const { snapshot } = offers;
      for (let length = 0; length < snapshot.length; length += 1) {
        expect(await offers.offer(snapshot.slice(0, length)), `${length} bytes`).toBe('corrupt');
      }
      for (const trailing of [[0], [0x42], [0x45], [...snapshot]]) {
        const longer = Uint8Array.from([...snapshot, ...trailing]);
        expect(await offers.offer(longer)).toBe('corrupt');
      }
      await offers.expectUnchanged();
    });
  });

  test('refuses random damage to a large snapshot', async () => {
    const state = await createStore().open('s', aggregate(stringCodec));
    for (let index = 0; index < 2_000; index += 1)
      state.update(index, () => 'x'.repeat(index % 90));
    const offers = await Offers.to({ state, read: () => state.get(1_999) });
    const { snapshot } = offers;
    const changes = fc.array(
      fc.tuple(fc.nat(snapshot.length - 1), fc.integer({ min: 1, max: 255 })),
      { minLength: 1, maxLength: 4 },
    );
    await fc.assert(
      fc.asyncProperty(changes, async (flips) => {
        const bytes = snapshot.slice();
        for (const [at, flip] of flips) bytes[at] = (bytes[at] ?? 0) ^ flip;
        fc.pre(Buffer.compare(bytes, snapshot) !== 0);
        expect(['corrupt', 'too-new']).toContain(await offers.offer(bytes));
      }),
      { numRuns: 40 },
    );
    await offers.expectUnchanged();
  });
});

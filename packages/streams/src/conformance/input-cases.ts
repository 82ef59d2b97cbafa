// Keys, versions and values that cannot be stored are refused where they enter, and change nothing.
//
// X6  What a codec accepts comes back unchanged; anything else is refused.
import assert from 'node:assert/strict';
import { streamsLimits } from '../limits.js';
import type { Codec } from '../state/codec.js';
import { bigintCodec, bytesCodec, numberCodec, stringCodec } from '../state/codec.js';
import { jsonCodec } from '../state/json-codec.js';
import type { Key } from '../state/key.js';
import { aggregate, versioned } from '../state/state-backend.js';
import { counts, increment, texts } from './state-samples.js';
import type { Cases, StateStoreSubject } from './state-store-subject.js';

export const inputCases: Cases = {
  'an invalid key is refused by every call': badKeys,
  'keys may be as long as their limit in bytes': longKeys,
  'an invalid version is refused': badVersions,
  'X6 values come back from a snapshot as they were': goodValues,
  'X6 a value that its codec would change is refused, and nothing changes': badValues,
  'values may be as long as their limit in bytes': largeValues,
  'a uid that does not fit its pattern is refused': badUids,
};

async function badKeys({ store }: StateStoreSubject): Promise<void> {
  const aggregates = await store.open('aggregates', counts);
  const newest = await store.open('newest', texts);
  const bad = [
    Number.NaN,
    0.5,
    2 ** 53,
    -(2 ** 53),
    Number.POSITIVE_INFINITY,
    '\ud800',
    'a\udc00b',
  ];
  const notKeys: readonly unknown[] = [undefined, null, true, {}, [], Symbol('key')];
  for (const key of [...bad, ...notKeys] as readonly Key[]) {
    const refused = { code: 'bad-record' };
    assert.throws(() => aggregates.update(key, increment), refused, String(key));
    assert.throws(() => aggregates.get(key), refused);
    assert.throws(() => newest.put(key, 'value', 1), refused);
    assert.throws(() => newest.delete(key, 1), refused);
    assert.throws(() => newest.get(key), refused);
    await assert.rejects(newest.snapshotForKeys(['a', key]), refused);
  }
}

async function longKeys({ store }: StateStoreSubject): Promise<void> {
  const state = await store.open('s', counts);
  const bytesMax = streamsLimits.keyBytesMax.value;
  const longest = ['x'.repeat(bytesMax), `${'é'.repeat(bytesMax / 2)}`, 2n ** 256n - 1n];
  for (const key of longest) {
    state.update(key, increment);
    assert.equal(state.get(key), 1);
  }
  const tooLong = { code: 'limit-exceeded' };
  for (const key of [`${'é'.repeat(bytesMax / 2)}x`, 'x'.repeat(bytesMax + 1), 2n ** 256n]) {
    assert.throws(() => state.update(key, increment), tooLong);
  }
}

async function badVersions({ store }: StateStoreSubject): Promise<void> {
  const numbers = await store.open('numbers', texts);
  const bigints = await store.open('bigints', versioned(stringCodec, 'bigint'));
  const times = await store.open('times', versioned(stringCodec, 'logical-time'));
  const refused = { code: 'bad-record' };
  for (const version of [Number.NaN, 0.5, 2 ** 53, 1n, '1', { epoch: 1, round: 1 }, undefined]) {
    assert.throws(() => numbers.put('a', 'x', version as number), refused, typeof version);
    assert.throws(() => numbers.prune(version as number), refused);
  }
  for (const version of [1, '1', null]) {
    assert.throws(() => bigints.put('a', 'x', version as unknown as bigint), refused);
  }
  assert.throws(() => bigints.put('a', 'x', 2n ** 256n), { code: 'limit-exceeded' });
  for (const version of [
    1,
    {},
    { epoch: 1 },
    { epoch: 1, round: 0.5 },
    { epoch: 1, round: 1, origin: 7 },
    { epoch: 1, round: 1, origin: '\ud800' },
    { epoch: 1, round: 1, index: Number.NaN },
  ]) {
    const time = version as { epoch: number; round: number };
    assert.throws(() => times.put('a', 'x', time), refused, JSON.stringify(version));
  }
  const ofOrigin = (bytes: number) => ({ epoch: 1, round: 1, origin: 'x'.repeat(bytes) });
  const { value: originMax } = streamsLimits.originBytesMax;
  assert.equal(times.put('longest', 'x', ofOrigin(originMax)), 'applied');
  assert.throws(() => times.put('a', 'x', ofOrigin(originMax + 1)), { code: 'limit-exceeded' });
  assert.deepEqual(
    [numbers.get('a'), bigints.get('a'), times.get('a')],
    [undefined, undefined, undefined],
  );
}

/** Values, by the codec that accepts them. */
const good: Readonly<Record<string, { codec: Codec<unknown>; values: readonly unknown[] }>> = {
  number: {
    codec: numberCodec,
    values: [0, -0, 1.5, Number.NaN, Number.NEGATIVE_INFINITY, 2 ** 60],
  },
  bigint: { codec: bigintCodec, values: [0n, 1n, -1n, 2n ** 4_000n, -(2n ** 63n)] },
  string: { codec: stringCodec, values: ['', 'a', '\ufeffé', '\u{1f600}', '\0'] },
  bytes: { codec: bytesCodec, values: [new Uint8Array(0), Uint8Array.of(0, 255)] },
  json: {
    codec: jsonCodec(),
    values: [
      null,
      false,
      -0,
      1e300,
      '\ud800',
      [],
      {},
      [[null]],
      { ['__proto__']: 1, b: { c: ['d'] } },
    ],
  },
};

async function goodValues({ store }: StateStoreSubject): Promise<void> {
  for (const [uid, { codec, values }] of Object.entries(good)) {
    const state = await store.open(uid, aggregate(codec));
    for (const [index, value] of values.entries()) state.update(index, () => value);
    const snapshot = await state.snapshot();
    for (const [index] of values.entries()) state.update(index, () => undefined);
    await state.restore(snapshot);
    for (const [index, value] of values.entries()) assert.deepEqual(state.get(index), value, uid);
  }
}

async function badValues({ store }: StateStoreSubject): Promise<void> {
  const cycle: unknown[] = [];
  cycle.push(cycle);
  const bad: Readonly<Record<string, { codec: Codec<unknown>; values: readonly unknown[] }>> = {
    number: { codec: numberCodec, values: ['1', 1n, null] },
    bigint: { codec: bigintCodec, values: [1, '1'] },
    string: { codec: stringCodec, values: [1, '\ud800', 'a\udfff'] },
    bytes: { codec: bytesCodec, values: ['a', [1], new Uint16Array(1)] },
    json: {
      codec: jsonCodec(),
      values: [
        ...[
          Number.NaN,
          Number.POSITIVE_INFINITY,
          1n,
          Symbol('s'),
          () => 1,
          [undefined],
          new Array(1),
        ],
        ...[new Map(), new Set(), new Date(0), new Error('e'), /x/, new (class Point {})(), cycle],
        ...[{ deep: { inside: Number.NaN } }, new Uint8Array(1), new Number(1)],
      ],
    },
  };
  for (const [uid, { codec, values }] of Object.entries(bad)) {
    const state = await store.open(uid, versioned(codec, 'number'));
    const [first] = good[uid]?.values ?? [];
    state.put('a', first, 1);
    for (const value of values) {
      assert.throws(
        () => state.put('a', value, 2),
        { code: 'bad-record' },
        `${uid}: ${typeof value}`,
      );
      assert.throws(() => state.put('b', value, 2), { code: 'bad-record' });
    }
    assert.throws(() => state.put('a', undefined, 2), { code: 'bad-record' });
    assert.deepEqual(state.get('a'), { value: first, version: 1 });
    assert.equal(state.get('b'), undefined);
  }
}

async function largeValues({ store }: StateStoreSubject): Promise<void> {
  const bytesMax = streamsLimits.valueBytesMax.value;
  const state = await store.open('s', aggregate(stringCodec));
  const largest = 'x'.repeat(bytesMax);
  state.update('a', () => largest);
  assert.throws(() => state.update('a', () => `${largest}x`), { code: 'limit-exceeded' });
  assert.equal(state.get('a'), largest);
  const snapshot = await state.snapshot();
  state.update('a', () => 'small');
  await state.restore(snapshot);
  assert.equal(state.get('a'), largest);
}

async function badUids({ store }: StateStoreSubject): Promise<void> {
  for (const uid of ['', 'A', '1a', 'a_b', 'a/b', 'a b', '-a', 'a'.repeat(64)]) {
    await assert.rejects(store.open(uid, counts), { code: 'invalid-argument' }, uid);
  }
  await store.open('a'.repeat(63), counts);
  await store.open('a-1', counts);
}

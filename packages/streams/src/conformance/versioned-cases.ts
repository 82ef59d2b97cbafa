// Versioned state: the tie rules, tombstones, and the order of each kind of version.
//
// X3  Putting is idempotent, independent of order up to conflicts, and never silent.
// X5  Versions are totally ordered by their kind.
import assert from 'node:assert/strict';
import { stringCodec } from '../state/codec.js';
import { jsonCodec } from '../state/json-codec.js';
import { versioned } from '../state/state-backend.js';
import type { LogicalTime } from '../state/version.js';
import { mixedKeys, texts } from './state-samples.js';
import type { Cases, StateStoreSubject } from './state-store-subject.js';

export const versionedCases: Cases = {
  'X3 a newer version is applied, the same one again is a no-op, an older one is ignored': ties,
  'X3 another value at the same version is a conflict that changes nothing': conflicts,
  'X3 a conflict shows the key, the version and both values, truncated to 256 bytes':
    conflictDetails,
  'X3 values are equal when their encoded bytes are': equalBytes,
  'X3 a delete leaves a tombstone that blocks older values': tombstones,
  'X3 a value and a tombstone at the same version are a conflict': tombstoneTies,
  'prune drops tombstones up to a version and leaves everything else': prune,
  'X5 numbers and bigints are ordered by value': integerVersions,
  'X5 logical times are ordered by epoch, round, origin and index': logicalVersions,
  'X5 two records of one epoch and round both count if origin or index distinguish them': sameRound,
  'X1 keys of different kinds are different keys': differentKeys,
};

async function ties({ store }: StateStoreSubject): Promise<void> {
  const state = await store.open('s', texts);
  assert.equal(state.get('a'), undefined);
  assert.equal(state.put('a', 'first', 3), 'applied');
  assert.equal(state.put('a', 'first', 3), 'same');
  assert.equal(state.put('a', 'older', 2), 'older');
  assert.deepEqual(state.get('a'), { value: 'first', version: 3 });
  assert.equal(state.put('a', 'newer', 4), 'applied');
  assert.equal(state.put('a', 'first', 3), 'older');
  assert.deepEqual(state.get('a'), { value: 'newer', version: 4 });
  assert.equal(state.put('a', 'newer', 5), 'applied', 'an equal value still takes the version');
  assert.deepEqual(state.get('a'), { value: 'newer', version: 5 });
}

async function conflicts({ store }: StateStoreSubject): Promise<void> {
  const state = await store.open('s', texts);
  state.put('a', 'one', 1);
  assert.throws(() => state.put('a', 'two', 1), { code: 'version-conflict' });
  assert.deepEqual(state.get('a'), { value: 'one', version: 1 });
  assert.equal(state.put('a', 'one', 1), 'same');
}

async function conflictDetails({ store }: StateStoreSubject): Promise<void> {
  const state = await store.open('s', texts);
  state.put('a', 'x'.repeat(1_000), 1);
  assert.throws(() => state.put('a', 'two', 1), {
    code: 'version-conflict',
    details: { uid: 's', key: '"a"', version: '1', current: `${'x'.repeat(256)}…`, offered: 'two' },
  });
  state.delete('b', 7);
  assert.throws(() => state.put('b', 'é', 7), {
    details: { uid: 's', key: '"b"', version: '7', current: 'a tombstone', offered: '0xc3a9' },
  });
}

async function equalBytes({ store }: StateStoreSubject): Promise<void> {
  const state = await store.open('s', versioned(jsonCodec<object>(), 'number'));
  state.put('a', { x: 1, y: [2] }, 1);
  assert.equal(state.put('a', { y: [2], x: 1 }, 1), 'same');
  assert.throws(() => state.put('a', { y: [2], x: 2 }, 1), { code: 'version-conflict' });
}

async function tombstones({ store }: StateStoreSubject): Promise<void> {
  const state = await store.open('s', texts);
  assert.equal(state.delete('never-there', 5), 'applied');
  assert.equal(state.put('never-there', 'late', 4), 'older');
  state.put('a', 'one', 1);
  assert.equal(state.delete('a', 0), 'older');
  assert.equal(state.delete('a', 2), 'applied');
  assert.equal(state.delete('a', 2), 'same');
  assert.equal(state.get('a'), undefined);
  assert.equal(state.put('a', 'late', 1), 'older');
  assert.equal(state.get('a'), undefined);
  assert.equal(state.put('a', 'again', 3), 'applied');
  assert.deepEqual(state.get('a'), { value: 'again', version: 3 });
}

async function tombstoneTies({ store }: StateStoreSubject): Promise<void> {
  const state = await store.open('s', texts);
  state.put('a', 'one', 1);
  assert.throws(() => state.delete('a', 1), { code: 'version-conflict' });
  state.delete('b', 1);
  assert.throws(() => state.put('b', 'one', 1), { code: 'version-conflict' });
  assert.deepEqual([state.get('a')?.value, state.get('b')], ['one', undefined]);
}

async function prune({ store }: StateStoreSubject): Promise<void> {
  const state = await store.open('s', texts);
  for (const [version, key] of ['a', 'b', 'c', 'd'].entries()) state.delete(key, version);
  state.put('e', 'value', 1);
  state.put('b', 'back', 5);
  assert.equal(state.prune(2), 2); // a and c
  assert.equal(state.prune(2), 0);
  assert.deepEqual(state.get('e'), { value: 'value', version: 1 });
  assert.deepEqual(state.get('b'), { value: 'back', version: 5 });
  assert.equal(state.put('d', 'late', 2), 'older', 'a newer tombstone is still there');
  assert.equal(state.put('a', 'late', -1), 'applied', 'a pruned one is not');
  assert.equal(state.prune(Number.MAX_SAFE_INTEGER), 1);
}

async function integerVersions({ store }: StateStoreSubject): Promise<void> {
  const numbers = await store.open('numbers', texts);
  const ascending = [Number.MIN_SAFE_INTEGER, -1, 0, 1, 2, 10, Number.MAX_SAFE_INTEGER];
  for (const version of ascending) {
    assert.equal(numbers.put('a', String(version), version), 'applied');
    assert.equal(numbers.get('a')?.version, version);
  }
  for (const version of ascending.slice(0, -1)) {
    assert.equal(numbers.put('a', 'late', version), 'older');
  }
  const bigints = await store.open('bigints', versioned(stringCodec, 'bigint'));
  const large = [1n - 2n ** 256n, -(2n ** 64n), -1n, 0n, 1n, 256n, 2n ** 64n, 2n ** 256n - 1n];
  for (const version of large) {
    assert.equal(bigints.put('a', String(version), version), 'applied');
    assert.equal(bigints.get('a')?.version, version);
  }
  for (const version of large.slice(0, -1))
    assert.equal(bigints.put('a', 'late', version), 'older');
}

async function logicalVersions({ store }: StateStoreSubject): Promise<void> {
  const state = await store.open('s', versioned(stringCodec, 'logical-time'));
  const ascending: readonly LogicalTime[] = [
    { epoch: -1, round: 99 },
    { epoch: 0, round: -1 },
    { epoch: 0, round: 0 },
    { epoch: 0, round: 0, index: 1 },
    { epoch: 0, round: 0, origin: 'a' },
    { epoch: 0, round: 0, origin: 'a', index: 7 },
    { epoch: 0, round: 0, origin: 'b', index: -7 },
    { epoch: 0, round: 0, origin: '\uffff' },
    { epoch: 0, round: 0, origin: '\u{10000}' },
    { epoch: 0, round: 1 },
    { epoch: 1, round: -5 },
  ];
  for (const [index, version] of ascending.entries()) {
    assert.equal(state.put('a', String(index), version), 'applied', JSON.stringify(version));
    assert.deepEqual(state.get('a')?.version, { origin: '', index: 0, ...version });
  }
  for (const version of ascending.slice(0, -1)) {
    assert.equal(state.put('a', 'late', version), 'older', JSON.stringify(version));
  }
  const same = { epoch: 1, round: -5, origin: '', index: 0 };
  assert.equal(state.put('a', String(ascending.length - 1), same), 'same');
}

async function sameRound({ store }: StateStoreSubject): Promise<void> {
  const state = await store.open('s', versioned(stringCodec, 'logical-time'));
  assert.equal(state.put('a', 'one', { epoch: 1, round: 1, origin: 'p', index: 0 }), 'applied');
  assert.equal(state.put('a', 'two', { epoch: 1, round: 1, origin: 'p', index: 1 }), 'applied');
  assert.equal(state.put('a', 'three', { epoch: 1, round: 1, origin: 'q', index: 0 }), 'applied');
  assert.equal(state.get('a')?.value, 'three');
}

async function differentKeys({ store }: StateStoreSubject): Promise<void> {
  const state = await store.open('s', texts);
  for (const [index, key] of mixedKeys.entries()) {
    assert.equal(state.put(key, `value ${index}`, 1), 'applied', String(key));
  }
  for (const [index, key] of mixedKeys.entries()) {
    assert.equal(state.get(key)?.value, `value ${index}`, String(key));
  }
  assert.equal(state.get(-0)?.value, state.get(0)?.value);
}

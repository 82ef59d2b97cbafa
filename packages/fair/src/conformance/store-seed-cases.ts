// Whole seeds: listing, reading and eviction.
import assert from 'node:assert/strict';
import {
  allNamespaces,
  assertSameCells,
  cellsAt,
  deltasOf,
  exponentialNamespace,
  type FairStoreSubject,
  linearNamespace,
  SEED,
  sumNamespace,
} from './store-samples.js';

const cell = { row: 1, column: 7 };

export const seedCases = {
  'F13 an unknown seed has no cells, and reading it does not make it known': unknownSeed,
  'F13 the default tracker shows cells that returned to 0, a named tracker does not': zeroCells,
  'F13 seeds are evicted by their number, not by their text': evictsByNumber,
  'F13 seeds say how many cells they hold and how long they were idle': idleSeeds,
  'F13 a forgotten seed starts over, with its seqs': forgets,
  'F13 namespaces are independent': namespacesApart,
};

async function unknownSeed({ store }: FairStoreSubject): Promise<void> {
  for (const namespace of allNamespaces) {
    assert.deepEqual(await cellsAt(store, namespace, SEED), []);
    assert.deepEqual(await store.seeds(namespace), []);
    assert.equal(await store.evictBefore(namespace, SEED + 1n), 0);
    await store.forget(namespace, SEED);
  }
}

async function zeroCells({ store }: FairStoreSubject): Promise<void> {
  for (const namespace of allNamespaces) {
    await store.applyDelta(
      namespace,
      SEED,
      deltasOf({ ...cell, amount: 0.5 }, { ...cell, amount: -0.5 }),
    );
    await store.applyDelta(namespace, SEED, deltasOf({ row: 2, column: 3, amount: 0.9e-6 }));
    await store.applyDelta(namespace, SEED, deltasOf({ row: 2, column: 4, amount: 1.1e-6 }));
    const expected = [
      { ...cell, probability: 0, timeMs: 0 },
      { row: 2, column: 3, probability: 0.9e-6, timeMs: 0 },
      { row: 2, column: 4, probability: 1.1e-6, timeMs: 0 },
    ];
    const wanted = namespace === sumNamespace ? expected : expected.slice(2);
    assertSameCells(namespace, await cellsAt(store, namespace, SEED), wanted);
  }
}

async function evictsByNumber({ store }: FairStoreSubject): Promise<void> {
  for (const namespace of [sumNamespace, exponentialNamespace]) {
    const seeds = [9n, 10n, 100n, 2n ** 53n + 1n, 2n ** 53n + 2n, 2n ** 64n - 1n];
    for (const seed of seeds) {
      const deltas = deltasOf({ ...cell, amount: 0.5 }, { row: 0, column: 0, amount: 0.5 });
      await store.applyDelta(namespace, seed, deltas);
    }
    const left = async () =>
      (await store.seeds(namespace)).map(({ seed }) => seed).sort((a, b) => (a < b ? -1 : 1));
    assert.deepEqual(await left(), seeds);
    assert.equal(await store.evictBefore(namespace, 9n), 0);
    assert.equal(await store.evictBefore(namespace, 100n), 4);
    assert.deepEqual(await left(), seeds.slice(2));
    assert.deepEqual(await cellsAt(store, namespace, 10n), []);
    assert.equal(await store.evictBefore(namespace, 2n ** 53n + 2n), 4);
    assert.deepEqual(await left(), seeds.slice(4));
    assert.equal((await cellsAt(store, namespace, 2n ** 64n - 1n)).length, 2);
  }
}

async function idleSeeds({ store, advanceMs }: FairStoreSubject): Promise<void> {
  const change = (seed: bigint, row: number) =>
    store.applyDelta(sumNamespace, seed, deltasOf({ row, column: 7, amount: 0.5 }));
  await change(42n, 0);
  await change(43n, 0);
  await advanceMs(700);
  await change(43n, 1);
  await advanceMs(50);
  await cellsAt(store, sumNamespace, 42n);
  const infos = await store.seeds(sumNamespace);
  assert.deepEqual(
    infos.toSorted((left, right) => (left.seed < right.seed ? -1 : 1)),
    [
      { seed: 42n, cellsCount: 1, idleMs: 750 },
      { seed: 43n, cellsCount: 2, idleMs: 50 },
    ],
  );
}

async function forgets({ store }: FairStoreSubject): Promise<void> {
  for (const namespace of allNamespaces) {
    const change = () =>
      store.applyDelta(namespace, SEED, deltasOf({ ...cell, amount: 0.5 }), {
        clientId: 'one',
        seq: 7,
      });
    await change();
    await store.forget(namespace, SEED);
    assert.deepEqual(await cellsAt(store, namespace, SEED), []);
    assert.deepEqual(await store.seeds(namespace), []);
    assert.equal((await change()).result, 'applied');
    const expected = [{ ...cell, probability: 0.5, timeMs: 0 }];
    assertSameCells(namespace, await cellsAt(store, namespace, SEED), expected);
  }
}

async function namespacesApart({ store }: FairStoreSubject): Promise<void> {
  await store.applyDelta(sumNamespace, SEED, deltasOf({ ...cell, amount: 0.25 }));
  await store.applyDelta(exponentialNamespace, SEED, deltasOf({ ...cell, amount: 0.5 }));
  assert.deepEqual(await cellsAt(store, linearNamespace, SEED), []);
  await store.forget(sumNamespace, SEED);
  assert.equal(await store.evictBefore(linearNamespace, SEED + 1n), 0);
  const expected = [{ ...cell, probability: 0.5, timeMs: 0 }];
  assertSameCells(exponentialNamespace, await cellsAt(store, exponentialNamespace, SEED), expected);
}

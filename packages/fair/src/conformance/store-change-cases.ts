// Changing cells: what a delta does, what a repeated one does not, and what a joined view leaves behind.
//
// F13  All stores give the same cells for the same operations.
import assert from 'node:assert/strict';
import { fairLimits } from '../limits.js';
import { PlainStore } from './plain-store.js';
import {
  allNamespaces,
  applied,
  assertSameCells,
  cellsAt,
  type Delta,
  deltasOf,
  exponentialNamespace,
  type FairStoreSubject,
  linearNamespace,
  listCells,
  SEED,
  sumNamespace,
  viewOf,
} from './store-samples.js';

const cell = { row: 1, column: 7 };

export const changeCases = {
  'F13 the deltas of a message apply in order, and each touched cell is returned once': inOrder,
  'F13 a delta is clamped by its own bounds': ownBounds,
  'F13 the default tracker keeps the highest time and does not decay': defaultTimes,
  'F13 a named tracker decays by its policy and the time of the store': decays,
  'F13 a change with a seq that was seen is applied once': repeatedSeq,
  'F13 seqs are remembered per client and per seed': seqScope,
  'F13 a change without an id is applied every time': withoutId,
  'F13 a view joins by the larger value': joins,
  'F13 calls that do not wait for each other apply in their order': notAwaited,
  'F13 the columns of a change may be used again once the call has returned': columnsAreCopied,
  'F13 a message of the largest size is applied whole, once': largestMessage,
  'F13 rows and columns of the default tracker may be any whole number': wideIds,
};

async function inOrder({ store }: FairStoreSubject): Promise<void> {
  for (const namespace of allNamespaces) {
    const touched = await applied(
      store.applyDelta(
        namespace,
        SEED,
        deltasOf(
          { ...cell, amount: 2, timeMs: 5 },
          { row: 0, column: 0, amount: 0.25, timeMs: 4 },
          { ...cell, amount: -0.75, timeMs: 3 },
        ),
      ),
    );
    const expected = [
      { row: 0, column: 0, probability: 0.25, timeMs: 4 },
      { ...cell, probability: 0.25, timeMs: 5 },
    ];
    assertSameCells(namespace, touched, expected);
    assertSameCells(namespace, await cellsAt(store, namespace, SEED), expected);
  }
}

async function ownBounds({ store }: FairStoreSubject): Promise<void> {
  for (const namespace of allNamespaces) {
    const change = async (delta: Omit<Delta, 'row' | 'column'>) =>
      (await applied(store.applyDelta(namespace, SEED, deltasOf({ ...cell, ...delta }))))[0]
        ?.probability;
    assert.equal(await change({ amount: 0, low: 0.25, high: 0.5 }), 0.25);
    assert.equal(await change({ amount: 5, low: 0.25, high: 0.5 }), 0.5);
    assert.equal(await change({ amount: -5, low: 0.125, high: 0.5 }), 0.125);
    assert.equal(await change({ amount: Number.MAX_VALUE }), 1);
    assert.equal(await change({ amount: -Number.MAX_VALUE }), 0);
  }
}

async function defaultTimes({ store, advanceMs }: FairStoreSubject): Promise<void> {
  const change = (timeMs: number) =>
    store.applyDelta(sumNamespace, SEED, deltasOf({ ...cell, amount: 0.25, timeMs }));
  await change(9_000_000_000_000);
  await advanceMs(60_000);
  await change(17);
  const expected = [{ ...cell, probability: 0.5, timeMs: 9_000_000_000_000 }];
  assertSameCells(sumNamespace, await cellsAt(store, sumNamespace, SEED), expected);
}

async function decays({ store, advanceMs }: FairStoreSubject): Promise<void> {
  const wanted = [
    { namespace: exponentialNamespace, probability: Math.exp(-0.4) },
    { namespace: linearNamespace, probability: 0.8 },
  ];
  for (const { namespace } of wanted)
    await store.applyDelta(namespace, SEED, deltasOf({ ...cell, amount: 1 }));
  await advanceMs(40_000);
  for (const { namespace, probability } of wanted) {
    const expected = [{ ...cell, probability, timeMs: 0 }];
    assertSameCells(namespace, await cellsAt(store, namespace, SEED), expected);
    const change = store.applyDelta(namespace, SEED, deltasOf({ ...cell, amount: 0 }));
    assertSameCells(namespace, await applied(change), expected);
  }
  await advanceMs(200_000);
  const faded = [{ ...cell, probability: Math.exp(-2.4), timeMs: 0 }];
  assertSameCells(exponentialNamespace, await cellsAt(store, exponentialNamespace, SEED), faded);
  assert.deepEqual(await cellsAt(store, linearNamespace, SEED), []);
}

async function repeatedSeq({ store }: FairStoreSubject): Promise<void> {
  for (const namespace of allNamespaces) {
    const change = (seq: number, amount: number) =>
      store.applyDelta(namespace, SEED, deltasOf({ ...cell, amount }), { clientId: 'one', seq });
    assert.equal((await change(5, 0.25)).result, 'applied');
    for (const seq of [5, 4, 1]) {
      const { result, cells } = await change(seq, 0.5);
      assert.equal(result, 'duplicate', `seq ${seq}`);
      assert.equal(cells.count, 0);
    }
    assert.equal((await change(9, 0.25)).result, 'applied');
    const expected = [{ ...cell, probability: 0.5, timeMs: 0 }];
    assertSameCells(namespace, await cellsAt(store, namespace, SEED), expected);
  }
}

async function seqScope({ store }: FairStoreSubject): Promise<void> {
  const change = (clientId: string, seed: bigint) =>
    store.applyDelta(exponentialNamespace, seed, deltasOf({ ...cell, amount: 0.25 }), {
      clientId,
      seq: 1,
    });
  const next = SEED + 300_000n;
  for (const [clientId, seed] of [
    ['one', SEED],
    ['two', SEED],
    ['one', next],
  ] as const)
    assert.equal((await change(clientId, seed)).result, 'applied', clientId);
  assert.equal((await change('two', SEED)).result, 'duplicate');
  await store.forget(exponentialNamespace, SEED);
  assert.equal((await change('one', next)).result, 'duplicate');
}

async function withoutId({ store }: FairStoreSubject): Promise<void> {
  for (let round = 0; round < 3; round += 1)
    await store.applyDelta(sumNamespace, SEED, deltasOf({ ...cell, amount: 0.25 }));
  const expected = [{ ...cell, probability: 0.75, timeMs: 0 }];
  assertSameCells(sumNamespace, await cellsAt(store, sumNamespace, SEED), expected);
}

async function joins({ store, advanceMs }: FairStoreSubject): Promise<void> {
  const other = { row: 2, column: 49 };
  for (const namespace of [exponentialNamespace, linearNamespace]) {
    await store.applyDelta(
      namespace,
      SEED,
      deltasOf({ ...cell, amount: 1 }, { ...other, amount: 0.25 }),
    );
  }
  await advanceMs(10_000);
  for (const namespace of [exponentialNamespace, linearNamespace]) {
    const decayedCell = namespace === linearNamespace ? 0.95 : Math.exp(-0.1);
    const view = viewOf(
      { ...cell, probability: 0.5 },
      { ...other, probability: 0.75 },
      { row: 0, column: 3, probability: 0.125 },
    );
    const expected = [
      { row: 0, column: 3, probability: 0.125, timeMs: 0 },
      { ...cell, probability: decayedCell, timeMs: 0 },
      { ...other, probability: 0.75, timeMs: 0 },
    ];
    const change = await store.joinView(namespace, SEED, view);
    assert.equal(change.seed, SEED);
    const changed = listCells(change.cells);
    const named = new Set(changed.map(({ row, column }) => `${row}/${column}`));
    assert.ok(named.has('0/3') && named.has('2/49'), 'cells that rose are reported');
    assertSameCells(
      namespace,
      changed,
      expected.filter(({ row, column }) => named.has(`${row}/${column}`)),
    );
    await store.joinView(namespace, SEED, view);
    assertSameCells(namespace, await cellsAt(store, namespace, SEED), expected);
  }
}

async function notAwaited({ store }: FairStoreSubject): Promise<void> {
  for (const namespace of allNamespaces) {
    const plain = new PlainStore();
    const changes = Array.from({ length: 40 }, async (_, index) => {
      const delta = { ...cell, amount: index % 2 === 0 ? 0.75 : -0.5, timeMs: index };
      plain.applyDelta(namespace, SEED, [delta]);
      const id = { clientId: 'one', seq: index + 1 };
      return await store.applyDelta(namespace, SEED, deltasOf(delta), id);
    });
    for (const change of await Promise.all(changes)) assert.equal(change.result, 'applied');
    assertSameCells(
      namespace,
      await cellsAt(store, namespace, SEED),
      plain.getSeed(namespace, SEED),
    );
  }
}

async function columnsAreCopied({ store }: FairStoreSubject): Promise<void> {
  const deltas = deltasOf({ ...cell, amount: 0.25 });
  const first = store.applyDelta(exponentialNamespace, SEED, deltas);
  deltas.amounts[0] = 0.5;
  const second = store.applyDelta(exponentialNamespace, SEED, deltas);
  deltas.rows[0] = 2;
  const view = viewOf({ row: 0, column: 0, probability: 0.5 });
  const joined = store.joinView(exponentialNamespace, SEED, view);
  view.probabilities[0] = 1;
  await Promise.all([first, second, joined]);
  const expected = [
    { row: 0, column: 0, probability: 0.5, timeMs: 0 },
    { ...cell, probability: 0.75, timeMs: 0 },
  ];
  assertSameCells(exponentialNamespace, await cellsAt(store, exponentialNamespace, SEED), expected);
}

async function largestMessage({ store }: FairStoreSubject): Promise<void> {
  const shape = { levels: 4, columns: 1_500 };
  for (const namespace of [sumNamespace, { ...exponentialNamespace, shape }]) {
    const plain = new PlainStore();
    const deltas = Array.from({ length: fairLimits.elementsPerMessageMax.value }, (_, index) => ({
      row: index % shape.levels,
      column: Math.floor(index / shape.levels) % shape.columns,
      amount: 0.0625,
      timeMs: index,
    }));
    const id = { clientId: 'one', seq: 1 };
    const expected = plain.applyDelta(namespace, SEED, deltas) ?? [];
    const change = store.applyDelta(namespace, SEED, deltasOf(...deltas), id);
    assertSameCells(namespace, await applied(change), expected);
    const again = await store.applyDelta(namespace, SEED, deltasOf(...deltas), id);
    assert.equal(again.result, 'duplicate');
    assertSameCells(namespace, await cellsAt(store, namespace, SEED), expected);
  }
}

async function wideIds({ store }: FairStoreSubject): Promise<void> {
  const widest = Number.MAX_SAFE_INTEGER;
  const places = [
    { row: 0, column: widest },
    { row: widest - 1, column: 2 ** 32 },
    { row: widest, column: widest },
  ];
  const seed = 2n ** 64n - 1n;
  const deltas = places.map((place) => ({ ...place, amount: 0.5, timeMs: widest }));
  const expected = places.map((place) => ({ ...place, probability: 0.5, timeMs: widest }));
  const change = store.applyDelta(sumNamespace, seed, deltasOf(...deltas));
  assertSameCells(sumNamespace, await applied(change), expected);
  assertSameCells(sumNamespace, await cellsAt(store, sumNamespace, seed), expected);
}

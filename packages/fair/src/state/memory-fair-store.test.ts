import { SynclineError } from '@syncline/kernel';
import { describe, expect, test } from 'vitest';
import { fairStoreSuite } from '../conformance/fair-store-suite.js';
import { ManualClock } from '../evaluation/manual-clock.js';
import { fairLimits } from '../limits.js';
import { type DeltaRow, deltasOf, SEED, viewOf } from '../testing/service-rig.js';
import type { Namespace } from './fair-store.js';
import { createMemoryFairStore } from './memory-fair-store.js';

const plain: Namespace = { name: '', rule: { policy: 'sum' }, shape: undefined, windowMs: 300_000 };
const named: Namespace = {
  name: 'api',
  rule: { policy: 'linear', ratePerSecond: 0.005 },
  shape: { levels: 3, columns: 10 },
  windowMs: 300_000,
};

function createSubject() {
  const clock = new ManualClock(1_700_000_000_000);
  const store = createMemoryFairStore({ clock });
  return {
    store,
    advanceMs: (ms: number) => clock.advanceTo(clock.monotonicMs() + ms),
    [Symbol.asyncDispose]: () => store.close(),
  };
}

describe('the memory store is a fair store', () => {
  for (const { name, run } of fairStoreSuite(async () => createSubject())) test(name, run);
});

test('F14 a view of the default tracker joins by the larger value, too', () => {
  const { store } = createSubject();
  store.applyDelta(
    plain,
    SEED,
    deltasOf([
      [0, 0, 0.5],
      [0, 1, 0.5],
    ]),
  );
  store.joinView(
    plain,
    SEED,
    viewOf([
      [0, 0, 0.25],
      [0, 1, 0.75],
    ]),
  );
  expect([...store.getSeed(plain, SEED).probabilities]).toEqual([0.5, 0.75]);
});

describe('limits of the memory store', () => {
  const refusalOf = (change: () => unknown): SynclineError => {
    try {
      change();
    } catch (thrown) {
      if (thrown instanceof SynclineError) return thrown;
    }
    throw new Error('it was not refused');
  };

  test('one seed more than allowed is refused, and known ones still work', () => {
    const { store } = createSubject();
    const { value: seedsMax } = fairLimits.defaultSeedsMax;
    for (let seed = 0; seed < seedsMax; seed += 1)
      store.applyDelta(plain, BigInt(seed), deltasOf([[0, 0, 0.5]]));
    const refusal = refusalOf(() => store.applyDelta(plain, 999n, deltasOf([[0, 0, 0.5]])));
    expect(refusal.code).toBe('limit-exceeded');
    expect(refusal.message).toContain('seed 999');
    expect(store.seeds(plain)).toHaveLength(seedsMax);
    expect(store.applyDelta(plain, 0n, deltasOf([[0, 0, 0.25]])).cells.probabilities[0]).toBe(0.75);
  });

  test('one cell more than allowed is refused, and nothing of its message is applied', () => {
    const { store } = createSubject();
    const { value: cellsMax } = fairLimits.defaultCellsMax;
    const perMessage = 8_192;
    for (let from = 0; from < cellsMax; from += perMessage) {
      const rows = Array.from(
        { length: perMessage },
        (_, index): DeltaRow => [0, from + index, 0.5],
      );
      store.applyDelta(plain, SEED, deltasOf(rows));
    }
    const oneMore = deltasOf([
      [0, 0, 0.25],
      [1, 0, 0.5],
    ]);
    expect(refusalOf(() => store.applyDelta(plain, SEED, oneMore)).code).toBe('limit-exceeded');
    const known = store.applyDelta(plain, SEED, deltasOf([[0, 0, 0]])).cells;
    expect(known.probabilities[0]).toBe(0.5);
    expect(store.seeds(plain)[0]?.cellsCount).toBe(cellsMax);
  });

  test('of the disconnected clients the one that was idle longest is forgotten', () => {
    const { store } = createSubject();
    const { value: clientIdsMax } = fairLimits.clientIdsMax;
    const connected = new Set(['c1']);
    const isConnected = (clientId: string) => connected.has(clientId);
    const change = (client: number, seq: number) => {
      const id = { clientId: `c${client}`, seq, isConnected };
      return store.applyDelta(named, SEED, deltasOf([[0, 0, 0.01]]), id).result;
    };
    for (let client = 0; client < clientIdsMax; client += 1) change(client, 1);
    expect(change(0, 2)).toBe('applied');
    expect(change(clientIdsMax, 1)).toBe('applied');
    expect(change(0, 2)).toBe('duplicate');
    expect(change(1, 1)).toBe('duplicate');
    expect(change(2, 1)).toBe('applied');
    connected.clear();
    for (let client = 0; client < clientIdsMax; client += 1) change(10_000 + client, 1);
    expect(change(1, 1)).toBe('applied');
  });
});

// The embedded store on LevelDB.
import { type Clock, silentLogger, silentMetrics } from '@syncline/kernel';
import { openLevelStorage } from '@syncline/kernel/level';
import { makeTempDirectory, type TempDirectory } from '@syncline/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fairStoreSuite } from '../conformance/fair-store-suite.js';
import {
  allNamespaces,
  cellsAt,
  deltasOf,
  exponentialNamespace,
} from '../conformance/store-samples.js';
import { ManualClock } from '../evaluation/manual-clock.js';
import { createEmbeddedFairStore } from './embedded-fair-store.js';

const WALL_MS = 1_700_000_000_000;
const SEED = 1_699_999_800_000n;

let temp: TempDirectory;
let directoriesCount = 0;

beforeAll(async () => {
  temp = await makeTempDirectory('fair-embedded');
});
afterAll(() => temp[Symbol.asyncDispose]());

async function open(directory: string, clock: Clock) {
  const storage = await openLevelStorage({ clock, logger: silentLogger }, { directory });
  const deps = { storage, clock, logger: silentLogger, metrics: silentMetrics };
  const store = await createEmbeddedFairStore(deps);
  return {
    store,
    async [Symbol.asyncDispose]() {
      await store.close();
      await storage.close();
    },
  };
}

function freshDirectory(): string {
  directoriesCount += 1;
  return `${temp.path}/${directoriesCount}`;
}

const cases = fairStoreSuite(async () => {
  const clock = new ManualClock(WALL_MS);
  const opened = await open(freshDirectory(), clock);
  const advanceMs = (elapsedMs: number) => clock.advanceTo(clock.monotonicMs() + elapsedMs);
  return { ...opened, advanceMs };
});

test.each(cases)('$name', (one) => one.run());

test('F50 a restart keeps the cells', async () => {
  const directory = freshDirectory();
  const before = new ManualClock(WALL_MS);
  const cells = Array.from({ length: 50 }, (_, column) => ({ row: 2, column, amount: 0.5 }));
  {
    await using opened = await open(directory, before);
    for (const namespace of allNamespaces)
      await opened.store.applyDelta(namespace, SEED, deltasOf(...cells));
  }
  await using again = await open(directory, new ManualClock(WALL_MS + 10_000));
  for (const namespace of allNamespaces) {
    const found = await cellsAt(again.store, namespace, SEED);
    expect(found).toHaveLength(50);
    const left = { sum: 0.5, exponential: 0.5 * Math.exp(-0.1), linear: 0.45 };
    for (const { probability } of found)
      expect(probability).toBeCloseTo(left[namespace.rule.policy], 12);
  }
  await again.store.evictBefore(exponentialNamespace, SEED + 1n);
  expect(await cellsAt(again.store, exponentialNamespace, SEED)).toEqual([]);
});

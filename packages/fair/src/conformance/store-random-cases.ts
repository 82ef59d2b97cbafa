// Any operations in any order: a real store and the plain one run side by side and are compared after every
// step. A failure names the seed of the run, which repeats it.
import assert from 'node:assert/strict';
import { type Random, randomBelow } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import type { Namespace } from '../state/fair-store.js';
import { PlainStore } from './plain-store.js';
import {
  allNamespaces,
  assertSameCells,
  cellsAt,
  type Delta,
  deltasOf,
  type FairStoreSubject,
  listCells,
  SEED,
  viewOf,
} from './store-samples.js';

const STEPS = 120;

export const randomCases = Object.fromEntries(
  ['first', 'second', 'third'].map((seed) => [
    `F13 random operations, ${seed} run`,
    (subject: FairStoreSubject) => runOperations(subject, createSeededRandom(`fair-store-${seed}`)),
  ]),
);

interface Operation {
  readonly namespace: Namespace;
  readonly seed: bigint;
}

async function runOperations(subject: FairStoreSubject, random: Random): Promise<void> {
  const plain = new PlainStore();
  let lastSeq = 1;
  for (let step = 0; step < STEPS; step += 1) {
    const namespace = allNamespaces[randomBelow(random, allNamespaces.length)] ?? fail();
    const operation = { namespace, seed: SEED + 300_000n * BigInt(randomBelow(random, 2)) };
    const draw = random.float();
    if (draw < 0.6) lastSeq = await change(subject, plain, operation, { random, lastSeq });
    else if (draw < 0.75) await join(subject, plain, operation, random);
    else if (draw < 0.97) {
      const elapsedMs = randomBelow(random, 30_000);
      plain.advanceMs(elapsedMs);
      await subject.advanceMs(elapsedMs);
    } else {
      plain.forget(operation.namespace, operation.seed);
      await subject.store.forget(operation.namespace, operation.seed);
    }
    const actual = await cellsAt(subject.store, namespace, operation.seed);
    assertSameCells(namespace, actual, plain.getSeed(namespace, operation.seed));
  }
}

async function change(
  { store }: FairStoreSubject,
  plain: PlainStore,
  { namespace, seed }: Operation,
  { random, lastSeq }: { readonly random: Random; readonly lastSeq: number },
): Promise<number> {
  const seq = Math.max(1, lastSeq + randomBelow(random, 4) - 1);
  const id = { clientId: `client-${randomBelow(random, 2)}`, seq };
  const deltas = Array.from({ length: 1 + randomBelow(random, 8) }, () => randomDelta(random));
  const expected = plain.applyDelta(namespace, seed, deltas, id);
  const { result, cells } = await store.applyDelta(namespace, seed, deltasOf(...deltas), id);
  assert.equal(result, expected === undefined ? 'duplicate' : 'applied');
  assertSameCells(namespace, listCells(cells), expected ?? []);
  return seq;
}

/** The default tracker takes no views. */
async function join(
  { store }: FairStoreSubject,
  plain: PlainStore,
  { namespace, seed }: Operation,
  random: Random,
): Promise<void> {
  if (namespace.rule.policy === 'sum') return;
  const { row, column } = randomDelta(random);
  const view = [{ row, column, probability: random.float() }];
  plain.joinView(namespace, seed, view);
  await store.joinView(namespace, seed, viewOf(...view));
}

function randomDelta(random: Random): Delta {
  const bounds = [random.float(), random.float()].sort((left, right) => left - right);
  return {
    row: randomBelow(random, 3),
    column: randomBelow(random, 5),
    amount: (random.float() - 0.4) * 0.8,
    timeMs: randomBelow(random, 1_000_000),
    ...(random.float() < 0.3 && { low: bounds[0] ?? 0, high: bounds[1] ?? 1 }),
  };
}

function fail(): never {
  throw new assert.AssertionError({ message: 'no namespace was drawn' });
}

import { expect, test } from 'vitest';
import { fairLimits } from '../limits.js';
import { createServiceRig, type DeltaRow, SEED, valuesOf } from '../testing/service-rig.js';

const { value: bytesPerTurn } = fairLimits.answerBytesPerTurn;
const PAGE = fairLimits.elementsPerMessageMax.value;

/** A seed of two messages in the default tracker, and streams that take one of them each. */
function crowdedRig(askersCount: number) {
  const rig = createServiceRig();
  const writer = rig.connect();
  for (const row of [0, 1])
    writer.deltas(Array.from({ length: PAGE }, (_, column): DeltaRow => [row, column, 0.5]));
  rig.settle();
  const askers = Array.from({ length: askersCount }, () => rig.connect());
  for (const asker of askers) asker.hasRoom = false;
  return { ...rig, writer, askers };
}

test('answers above the limit of a turn wait for the next one, and equal requests share the same bytes', () => {
  const { askers, settle } = crowdedRig(40);
  for (const asker of askers) asker.requestState();
  const atOnce = askers.flatMap(({ bytes }) => bytes);
  const bytesCount = atOnce.reduce((sum, { length }) => sum + length, 0);
  expect(bytesCount).toBeLessThan(bytesPerTurn + (atOnce[0]?.length ?? 0));
  expect(bytesCount).toBeGreaterThanOrEqual(bytesPerTurn);
  settle();
  const pages = askers.map(({ bytes }) => bytes);
  expect(pages.map(({ length }) => length)).toEqual(askers.map(() => 1));
  expect(new Set(pages.flat()).size).toBe(1);
});

test('shared answers are never older than a change', () => {
  const { askers, writer, settle } = crowdedRig(2);
  const [one, two] = askers;
  one?.requestState();
  writer.deltas([[0, 0, 0.25]]);
  two?.requestState();
  expect(one?.take().map((page) => valuesOf(page).get('0/0'))).toEqual([0.5]);
  expect(two?.take().map((page) => valuesOf(page).get('0/0'))).toEqual([0.75]);
  settle();
  for (const asker of askers) asker.drained();
  settle();
  for (const asker of askers) {
    const [rest, missed] = asker.take();
    expect(rest && valuesOf(rest).get('1/0')).toBe(0.5);
    expect(missed && valuesOf(missed)).toEqual(new Map([['0/0', 0.75]]));
  }
});

test('F6 a waiting stream gets its snapshot first, and then everything that changed in the meantime', () => {
  const { askers, connect, settle, pass } = crowdedRig(40);
  const [writer, waiting] = [connect(), connect()];
  for (const [name, client] of [['writer', writer] as const, ['waiting', waiting] as const])
    client.hello('api', name);
  writer.deltas([[0, 0, 0.25]]);
  pass(1_100);
  waiting.take();
  for (const asker of askers) asker.requestState();
  waiting.requestState();
  expect(waiting.take()).toEqual([]);
  waiting.deltas([[0, 1, 0.25]]);
  writer.deltas([[0, 2, 0.25]]);
  settle();
  const [snapshot, ...later] = waiting.take();
  expect(snapshot).toMatchObject({ seed: SEED, isSnapshot: true, snapshotEnd: true });
  const acknowledged = [snapshot, ...later].filter((response) => response?.ackedSeq === 1);
  expect(acknowledged).toHaveLength(1);
  const seen = new Map([snapshot, ...later].flatMap((one) => (one ? [...valuesOf(one)] : [])));
  expect([...seen.keys()].toSorted()).toEqual(['0/0', '0/1', '0/2']);
});

test('a stream that left while it waited is not written to', () => {
  const { askers, settle } = crowdedRig(40);
  for (const asker of askers) asker.requestState();
  const last = askers.at(-1);
  last?.hangUp();
  settle();
  expect(last?.take()).toEqual([]);
});

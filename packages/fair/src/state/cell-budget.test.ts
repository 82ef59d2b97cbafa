import { expect, test } from 'vitest';
import { fairLimits } from '../limits.js';
import {
  CONFIG,
  createServiceRig,
  type DeltaRow,
  SEED,
  valuesOf,
  viewOf,
} from '../testing/service-rig.js';
import { createCellGrid } from './cell-grid.js';
import { namespaceOf } from './hello-checks.js';

const LARGE = { ...CONFIG, levels: 4, columns: 65_536 };

/** One cell of each thousand: memory for all of them is needed. */
const EVERYWHERE = Array.from({ length: 256 }, (_, index): DeltaRow => {
  const slot = index * 1_024;
  return [Math.floor(slot / LARGE.columns), slot % LARGE.columns, 0.5];
});

test('a large shape takes memory where it is touched, and no more', () => {
  const grid = createCellGrid(LARGE);
  expect(grid.heldCount).toBe(0);
  grid.put(grid.slotOf(3, 65_535), 0.5, 1);
  grid.put(grid.slotOf(3, 65_534), 0.5, 1);
  expect([grid.heldCount, grid.touchedCount]).toEqual([1_024, 2]);
});

test('F10 cells of all trackers share one limit; a message above it is refused, and others are not affected', () => {
  const { connect, settle, store } = createServiceRig();
  const trackersCount = fairLimits.namedCellsMax.value / fairLimits.cellsMax.value;
  const clients = Array.from({ length: trackersCount }, (_, index) => {
    const client = connect();
    client.hello(`t${index}`, 'one', { config: LARGE });
    client.deltas(EVERYWHERE);
    return client;
  });
  const late = connect();
  late.hello('late', 'one', { config: LARGE });
  late.deltas([[0, 0, 0.5]]);
  expect(late.error?.code).toBe('limit-exceeded');
  expect(late.error?.details).toMatchObject({ limit: 'namedCellsMax' });
  const view = connect();
  view.hello('late', 'two', { config: LARGE, lastEpoch: 1 });
  view.send({ kind: 'view-upload', seed: SEED, cells: viewOf([[0, 0, 0.5]]) });
  expect(view.error?.code).toBe('limit-exceeded');
  expect(store.seeds(namespaceOf('late', LARGE))).toEqual([]);
  settle();
  const [first] = clients;
  first?.take();
  first?.deltas([[0, 1, 0.5]]);
  settle();
  expect(first?.take().map((response) => valuesOf(response).get('0/1'))).toEqual([0.5]);
});

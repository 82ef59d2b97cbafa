import { createSeededRandom } from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import { createServiceRig, type DeltaRow } from '../testing/service-rig.js';
import { CellMarks } from './cell-marks.js';
import { chooseHot, HotCells } from './hot-cells.js';

function dirtyCells(count: number, changeOf: (slot: number) => number) {
  const dirty = new CellMarks();
  const hot = new HotCells();
  for (let slot = 0; slot < count; slot += 1) {
    dirty.add(slot);
    hot.note(slot, changeOf(slot), 1);
  }
  return { dirty, hot };
}

describe('cells that a budget lets through', () => {
  test('are as many as allowed, and mostly those that changed most', () => {
    const choice = dirtyCells(100, (slot) => (slot < 50 ? 0.5 : -0.001));
    const [chosen] = chooseHot([choice], 20, createSeededRandom('hot'));
    expect(chosen?.count).toBe(20);
    expect(choice.dirty.count).toBe(80);
    let large = 0;
    for (let slot = 0; slot < 50; slot += 1) if (chosen?.has(slot)) large += 1;
    expect(large).toBeGreaterThan(12); // by one choice it would be 10
  });

  test('come first after being skipped four times', () => {
    const choice = dirtyCells(10, (slot) => (slot === 9 ? 0.001 : 1));
    const random = createSeededRandom('due');
    for (let round = 0; round < 4; round += 1) choice.hot.passOver(choice.dirty);
    for (let slot = 0; slot < 9; slot += 1) {
      choice.hot.sent(slot);
      choice.hot.note(slot, 1, 2);
    }
    const [chosen] = chooseHot([choice], 1, random);
    expect(chosen?.has(9)).toBe(true);
  });

  test('leave no cell unsent for long, and acknowledgements wait for all their cells', () => {
    const { connect, pass } = createServiceRig({
      broadcastIntervalMs: 10,
      broadcastBudgetCells: 10,
    });
    const client = connect();
    client.hello('api', 'one');
    pass(1_100);
    client.take();
    client.deltas(Array.from({ length: 50 }, (_, column): DeltaRow => [0, column, 0.5]));
    const acks: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      pass(10);
      const [response] = client.take();
      expect(response?.cells.count).toBe(10);
      acks.push(response?.ackedSeq ?? -1);
    }
    expect(acks).toEqual([0, 0, 0, 0, 1]);
  });
});

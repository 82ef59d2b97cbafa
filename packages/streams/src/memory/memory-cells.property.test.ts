import { createSystemClock } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import type { Segment } from '../snapshot/segment.js';
import { numberCodec, stringCodec } from '../state/codec.js';
import type { Key } from '../state/key.js';
import { aggregate } from '../state/state-backend.js';
import { createStateSchema } from '../state/state-schema.js';
import { CaptureMemory, KEPT_BYTES } from './memory-capture.js';
import { MemoryCells, type StoredGroup } from './memory-cells.js';
import { SlotTable } from './slot-table.js';

const schema = createStateSchema('counts', aggregate(numberCodec), 8);
const options = { snapshotBytesMax: 1e6, isTracked: true };

function createCells() {
  return new MemoryCells(schema, createSystemClock(), options);
}

/** What a checkpoint would store. */
function takeChanges(cells: ReturnType<typeof createCells>): readonly Segment[] {
  const capture = cells.captureChanges();
  while (!capture.advance());
  cells.endCapture();
  return capture.result();
}

function asGroups(epochs: readonly (readonly Segment[])[]): ReadonlyMap<number, StoredGroup> {
  const groups = new Map<number, StoredGroup>();
  for (const [epoch, segments] of epochs.entries()) {
    for (const { group, bytes, entries, holds } of segments) {
      const none = { segments: [], entries: 0 };
      if (holds === 'nothing') {
        groups.delete(group);
        continue;
      }
      const before = (holds === 'changes' ? groups.get(group) : undefined) ?? none;
      const segment = { name: `segment ${group}/${epoch}`, bytes };
      groups.set(group, {
        segments: [...before.segments, segment],
        entries: before.entries + entries,
      });
    }
  }
  return groups;
}

test('X22 stored groups that are decoded when first needed contain what was stored, whatever happens in between', () => {
  for (let seed = 1; seed <= 30; seed += 1) {
    const random = createSeededRandom(`memory-cells/${seed}`);
    const model = new Map<string, number>();
    let cells = createCells();
    let epochs: (readonly Segment[])[] = [];
    for (let step = 0; step < 300; step += 1) {
      const key = `k${random.u32() % 60}`;
      const slot = cells.edit(key);
      expect(slot === undefined ? undefined : cells.valueAt(slot), `seed ${seed}`).toBe(
        model.get(key),
      );
      if (random.float() < 0.25) {
        if (slot !== undefined) cells.remove(slot);
        model.delete(key);
      } else {
        if (slot === undefined) cells.insert(key, step, undefined);
        else cells.change(slot, step, undefined);
        model.set(key, step);
      }
      if (random.float() < 0.1) epochs.push(takeChanges(cells));
      if (random.float() < 0.03) {
        epochs.push(takeChanges(cells));
        cells = createCells();
        cells.attach(asGroups(epochs), schema);
      }
      if (random.float() < 0.02) {
        cells.touchAll();
        epochs = [takeChanges(cells)];
      }
    }
    const found = [...cells.entries()].map(({ key, value }) => [key, value] as const);
    expect(new Map(found), `seed ${seed}`).toEqual(model);
    expect(cells.count).toBe(model.size);
  }
});

/** Far more than one slice, and than one buffer of kept entries. */
const MANY_KEYS = 9_000;

test('X22 changes hold what was there at the call, whatever is written between the slices of many captures', () => {
  const texts = createStateSchema('texts', aggregate(stringCodec), 8);
  const createTexts = () => new MemoryCells(texts, createSystemClock(), options);
  const contentOf = (cells: ReturnType<typeof createTexts>) =>
    new Map(Array.from(cells.entries(), ({ key, value }) => [key, value] as const));
  for (let seed = 1; seed <= 3; seed += 1) {
    const random = createSeededRandom(`captures/${seed}`);
    const model = new Map<Key, string>();
    const cells = createTexts();
    const epochs: (readonly Segment[])[] = [];
    const write = (count: number) => {
      for (let step = 0; step < count; step += 1) {
        const key = random.u32() % MANY_KEYS;
        const slot = cells.edit(key);
        if (random.float() < 0.25) {
          if (slot !== undefined) cells.remove(slot);
          model.delete(key);
          continue;
        }
        const value = `${step}`.repeat(1 + (random.u32() % 40));
        if (slot === undefined) cells.insert(key, value, undefined);
        else cells.change(slot, value, undefined);
        model.set(key, value);
      }
    };
    for (const writes of [20_000, 100, 20_000, 3_000, 0, 1, 20_000]) {
      write(writes);
      const expected = new Map(model);
      const segments: Segment[] = [];
      const capture = cells.captureChanges(segments);
      for (let isDone = false; !isDone; isDone = capture.advance()) write(writes / 10);
      cells.endCapture();
      epochs.push(capture.result());
      const restored = createTexts();
      restored.attach(asGroups(epochs), texts);
      expect(contentOf(restored), `seed ${seed}, epoch ${epochs.length}`).toEqual(expected);
    }
    expect(contentOf(cells)).toEqual(model);
  }
});

test('every key finds its own slot, however keys come and go', () => {
  for (let seed = 1; seed <= 5; seed += 1) {
    const random = createSeededRandom(`slot-table/${seed}`);
    const table = new SlotTable<number, undefined>();
    const model = new Map<Key, number>();
    const keyOf = (number: number): Key => {
      if (number % 5 === 0) return `k${number}`;
      if (number % 7 === 0) return number * 2 ** 31;
      return number % 2 === 0 ? number : -number * 1_024;
    };
    for (let step = 0; step < 20_000; step += 1) {
      const key = keyOf(random.u32() % 4_000);
      const slot = table.slotOf(key);
      expect(slot, `seed ${seed}`).toBe(model.get(key));
      if (slot === undefined) model.set(key, table.insert(key, step, undefined, 0));
      else {
        table.remove(slot);
        table.free(slot);
        model.delete(key);
      }
    }
    for (const [key, slot] of model) expect(table.slotOf(key), `seed ${seed}`).toBe(slot);
    expect(table.count).toBe(model.size);
  }
});

test('the memory of captures does not grow with their number', () => {
  const memory = new CaptureMemory();
  for (let capture = 0; capture < 3; capture += 1) {
    memory.clear();
    for (let entry = 0; entry < 4; entry += 1) {
      const buffer = memory.bufferToKeep();
      expect(memory.placeOf(buffer.length)).toBe(entry * KEPT_BYTES);
      buffer.bytes(new Uint8Array(KEPT_BYTES));
    }
  }
});

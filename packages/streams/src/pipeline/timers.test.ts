import { expect, test } from 'vitest';
import { MemoryCells } from '../memory/memory-cells.js';
import { aggregate } from '../state/state-backend.js';
import { createStateSchema } from '../state/state-schema.js';
import { Timers, timersCodec } from './timers.js';

function timersOf(): Timers {
  const schema = createStateSchema('op/~timers', aggregate(timersCodec), 4);
  const turns = { defer: () => ({ cancel() {} }) };
  const cells = new MemoryCells(schema, turns, { snapshotBytesMax: 1e6 });
  return new Timers(cells, 4);
}

test('timeouts that are moved again and again leave nothing in memory, and fire once', () => {
  const timers = timersOf();
  for (let atMs = 1; atMs <= 50_000; atMs += 1) {
    const key = `k${atMs % 7}`;
    timers.delete('event', key, atMs - 7);
    timers.set('event', key, atMs);
    timers.compact();
    expect(timers.indexed).toBeLessThan(1_100);
  }
  const fired = [];
  for (let due = timers.takeDue('event', 1e6); due; due = timers.takeDue('event', 1e6)) {
    fired.push(due.atMs);
  }
  expect(fired).toEqual([49_994, 49_995, 49_996, 49_997, 49_998, 49_999, 50_000]);
});

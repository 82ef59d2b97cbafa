// F7  Without outcomes for a time T, every p is what decay leaves of it after T, however often it is read and
// whatever the wall clocks show.
import { assert } from '@syncline/kernel';
import { fade } from '../cell-model.js';
import type { ClientProcess } from '../client-process.js';
import { FLOW_KEYS } from '../fair-plan.js';

const ROUNDING_MS = 2;

export type SeenView = ReadonlyMap<string, number>;

/** The main structure of an instance. */
export function seeView({ tracker }: ClientProcess): SeenView {
  const seen = new Map<string, number>();
  for (const key of FLOW_KEYS) {
    const { levels, seed } = tracker.peek(key);
    for (const { level, column, probability } of levels)
      seen.set(`${seed}/${level}:${column}`, probability);
  }
  return seen;
}

export function checkIdleDecay(client: ClientProcess, before: SeenView, elapsedMs: number): void {
  const { shape, node } = client.plan;
  for (const [cell, probability] of seeView(client)) {
    const earlier = before.get(cell);
    if (earlier === undefined) continue; // the window has changed
    const expected = fade(shape, earlier, elapsedMs);
    const tolerance = 1e-9 + (shape.ratePerSecond * ROUNDING_MS) / 1000;
    assert(
      Math.abs(probability - expected) <= tolerance,
      `F7: ${node} has ${probability} in ${cell} after ${elapsedMs} ms without outcomes, not ${expected}`,
    );
  }
}

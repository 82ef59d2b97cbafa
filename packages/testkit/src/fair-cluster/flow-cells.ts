// The cells of every flow in every seed of a run, computed once.
import { cellsOfFlow } from '@syncline/fair/testing';
import type { TrackerShape } from './fair-plan.js';

export class FlowCells {
  readonly #found = new Map<string, readonly number[]>();

  of(shape: TrackerShape, key: string, seed: number): readonly number[] {
    const id = `${shape.secret}/${key}/${seed}`;
    const known = this.#found.get(id);
    if (known !== undefined) return known;
    const cells = cellsOfFlow(shape, key, seed);
    this.#found.set(id, cells);
    return cells;
  }
}

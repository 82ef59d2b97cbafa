// Creates the backend for a description on top of its cells.
import { AggregateState } from './aggregate-state.js';
import type { Cells, Turns } from './cells.js';
import type { BackendOf } from './state-backend.js';
import type { Version } from './version.js';
import { VersionedState } from './versioned-state.js';

export function createBackend<Description, Cell>(
  cells: Cells<unknown, unknown, Cell>,
  turns: Turns,
): BackendOf<Description> {
  const backend =
    cells.schema.kind === 'aggregate'
      ? new AggregateState(cells as Cells<unknown, undefined, Cell>, turns)
      : new VersionedState(cells as Cells<unknown, Version, Cell>, turns);
  return backend as unknown as BackendOf<Description>;
}

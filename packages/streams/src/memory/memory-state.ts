// State on the heap: for tests, for state that fits into memory, and as a reference for other backends.
import { assert, createSystemClock } from '@syncline/kernel';
import { streamsLimits } from '../limits.js';
import type { Turns } from '../state/cells.js';
import { createBackend } from '../state/create-backend.js';
import type { StateDescription, StateStore } from '../state/state-backend.js';
import { createSchema } from '../state/state-schema.js';
import { MemoryCells } from './memory-cells.js';

export interface MemoryStateOptions {
  /** Number of groups that keys are hashed into. Default 128. Only snapshots with the same number can be compared. */
  readonly keyGroups?: number;
  /** Maximum size of a snapshot. Default 512 MiB. */
  readonly snapshotBytesMax?: number;
}

export interface MemoryStateDeps {
  /** Lets other tasks run while a snapshot is encoded or decoded. */
  readonly clock: Turns;
}

export function memoryState(
  options: MemoryStateOptions = {},
  deps: MemoryStateDeps = { clock: createSystemClock() },
): StateStore {
  const uids = new Set<string>();
  return {
    async open<Description extends StateDescription>(uid: string, description: Description) {
      const schema = createSchema(uid, description, options.keyGroups);
      assert(!uids.has(uid), `state "${uid}" is already open`);
      uids.add(uid);
      const { snapshotBytesMax = streamsLimits.snapshotBytesMax.value } = options;
      const cells = new MemoryCells(schema, deps.clock, { snapshotBytesMax });
      return createBackend<Description, number>(cells, deps.clock);
    },
  };
}

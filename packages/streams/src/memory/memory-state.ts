// State on the heap: for tests, for state that fits into memory, and as the reference for other backends.
import { assert, createSystemClock } from '@syncline/kernel';
import { streamsLimits } from '../limits.js';
import type { Turns } from '../state/cells.js';
import { createBackend } from '../state/create-backend.js';
import type { StateDescription, StateStore } from '../state/state-backend.js';
import { createSchema } from '../state/state-schema.js';
import { MemoryCells } from './memory-cells.js';

export interface MemoryStateOptions {
  /** Groups that keys are hashed into. Default 128. Snapshots of states with the same number can be compared. */
  readonly keyGroups?: number;
  /** Bytes that one snapshot may take. Default 512 MiB. */
  readonly snapshotBytesMax?: number;
}

export interface MemoryStateDeps {
  /** Lets others run while a snapshot is encoded or decoded. */
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
      assert(!uids.has(uid), `state "${uid}" is open already`);
      uids.add(uid);
      const { snapshotBytesMax = streamsLimits.snapshotBytesMax.value } = options;
      const cells = new MemoryCells(schema, deps.clock, { snapshotBytesMax });
      return createBackend<Description, number>(cells, deps.clock);
    },
  };
}

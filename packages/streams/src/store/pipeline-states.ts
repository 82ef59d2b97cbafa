// All states of a running pipeline, in memory or embedded, behind one interface for the runtime.
//
// A checkpoint captures the changes of all states at one barrier, adds them to its batch in slices, and notifies the
// states when the batch is stored. A failed attempt does not merge anything back: the run discards all states and
// reloads the last durable epoch.
import {
  type Storage,
  type StorageBatch,
  type StorageReads,
  SynclineError,
} from '@syncline/kernel';
import { crc32 } from '@syncline/kernel/node';
import type { Entry } from '../snapshot/entry.js';
import type { Cells } from '../state/cells.js';
import { corrupt } from '../state/state-error.js';
import { checkStoredSchema, type StateSchema, type StoredSchema } from '../state/state-schema.js';
import { type Head, storeKeys, unseal } from './layout.js';

/** Cells of any state. The type of a cell is up to the backend. */
export type AnyCells = Cells<unknown, unknown, unknown>;

/** A state as a pipeline declares it. `schema.uid` is `<operator>/<state>`. */
export interface DeclaredState {
  readonly schema: StateSchema<unknown, unknown>;
  /** The uid that it is stored under. Differs from its own if the operator was renamed. */
  readonly storedAs: string;
  readonly migrateFrom: readonly StateSchema<unknown, unknown>[];
}

export interface PipelineStates {
  /** Loads or opens a state. `head` is that of the last epoch, if there is one. */
  open(state: DeclaredState, head: Head | undefined): Promise<AnyCells>;
  /** Visits every entry that has a value, in no particular order. */
  forEach(uid: string, visit: (entry: Entry<unknown, unknown>) => void): Promise<void>;
  /** Captures the changes of all states, in O(1) each. */
  capture(): void;
  /** Adds the captured changes to the batch, in slices, and returns the checksums of all tables. */
  encode(batch: StorageBatch, epoch: number): Promise<Readonly<Record<string, number>>>;
  /** Called once the batch is stored. */
  settle(): Promise<void>;
  /** Looks for damage that reads do not detect. Called once per epoch, after the commit point. */
  scrub(epoch: number): Promise<void>;
  /** Estimated size of the changes since the last capture. */
  readonly changedBytes: number;
  /** By state. */
  sizes(): ReadonlyMap<string, StateSize>;
}

export interface StateSize {
  readonly keys: number;
  readonly bytes: number;
}

/** The stored table of a state, verified against the checksum in the head. */
export function readTable(
  reads: StorageReads,
  state: string,
  head: Head,
): (StoredSchema & Record<string, unknown>) | undefined {
  const expected = head.tables[state];
  const sealed = reads.get(storeKeys.table(state));
  if (expected === undefined) return undefined;
  const name = `the table of state "${state}"`;
  const found = sealed === undefined ? undefined : crc32(sealed);
  if (sealed === undefined || found !== expected) {
    throw corrupt(name, {
      offset: 0,
      expected: `checksum ${expected}, as recorded by epoch ${head.epoch}`,
      found: found === undefined ? 'nothing' : String(found),
    });
  }
  return unseal(name, sealed) as StoredSchema & Record<string, unknown>;
}

/**
 * The schema to read the stored entries with: the state's own, or one that it migrates from. Throws `incompatible` or
 * `too-new`.
 */
export function schemaOfStored(
  { schema, migrateFrom }: DeclaredState,
  stored: StoredSchema,
): StateSchema<unknown, unknown> {
  const what = `state "${schema.uid}"`;
  const reader = [schema, ...migrateFrom].find(({ codec }) => codec.id === stored.codec.id);
  if (reader === undefined) {
    throw new SynclineError(
      'incompatible',
      `${what} was written with codec "${stored.codec.id}", but the pipeline uses "${schema.codec.id}". ` +
        'Give the state `migrateFrom` with the old codec, or drop it with `dropState`.',
      { details: { field: 'codec', expected: schema.codec.id, found: stored.codec.id } },
    );
  }
  checkStoredSchema(what, reader, stored);
  return reader;
}

/** Moves everything that is stored for a state to another name, or deletes it. */
export async function moveState(
  storage: Storage,
  batch: StorageBatch,
  from: string,
  to: string | undefined,
): Promise<void> {
  const table = storage.get(storeKeys.table(from));
  if (table === undefined) return;
  batch.delete(storeKeys.table(from));
  if (to !== undefined) batch.put(storeKeys.table(to), table);
  for (const place of ['seg', 'kv', 'gone']) {
    const range = storeKeys.under(`${place}/${from}`);
    const prefix = to === undefined ? undefined : storeKeys.under(`${place}/${to}`).from;
    for await (const entries of storage.range(range).batches()) {
      for (const { key, value } of entries) {
        batch.delete(key);
        if (prefix === undefined) continue;
        batch.put(Buffer.concat([prefix, key.subarray(range.from.length)]), value);
      }
    }
  }
}

/** Throws `limit-exceeded` if the state in memory is too large. */
export function checkSize(states: PipelineStates, bytesMax: number): void {
  let bytes = 0;
  for (const size of states.sizes().values()) bytes += size.bytes;
  if (bytes <= bytesMax) return;
  throw new SynclineError(
    'limit-exceeded',
    `the state in memory takes about ${bytes} bytes, more than ${bytesMax}. ` +
      "Take a savepoint and restore it with `state: 'embedded'`.",
    { details: { limit: 'memoryStateBytesMax' } },
  );
}

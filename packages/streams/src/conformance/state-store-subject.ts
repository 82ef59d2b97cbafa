// The subject of the state suite: an empty store, and a way to restart it if it is persistent.
import type { StateStore } from '../state/state-backend.js';

export interface StateStoreSubject {
  /** An empty store with 128 key groups, the default. */
  readonly store: StateStore;
  /** Makes everything durable, ends the store and reopens it. Needed for `isPersistent`. */
  reopen?(): Promise<StateStore>;
}

export interface StateStoreAbilities {
  /** What was made durable is there after a restart. */
  readonly isPersistent: boolean;
}

export type Cases = Readonly<Record<string, (subject: StateStoreSubject) => Promise<void>>>;

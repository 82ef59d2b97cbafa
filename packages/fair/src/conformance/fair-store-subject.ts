// The subject of the store suite: an empty store and control over its clock, so that runs can be compared.
import type { FairStore } from '../state/fair-store.js';

export interface FairStoreSubject {
  /** An empty store, as a service would use it. */
  readonly store: FairStore;
  /** Lets whole milliseconds pass on the store's own clock; no time passes otherwise. */
  advanceMs(elapsedMs: number): void | Promise<void>;
}

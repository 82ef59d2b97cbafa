// Bugs in the store: it forgets which changes it has already applied.
import type { FairStore } from '@syncline/fair';
import type { PlantedFairBug } from '../planted-bug.js';

export function plantInStore(store: FairStore, bug: PlantedFairBug | undefined): FairStore {
  if (bug !== 'fair-applied-again') return store;
  return {
    applyDelta: (namespace, seed, deltas) => store.applyDelta(namespace, seed, deltas),
    joinView: (namespace, seed, cells) => store.joinView(namespace, seed, cells),
    getSeed: (namespace, seed) => store.getSeed(namespace, seed),
    evictBefore: (namespace, seed) => store.evictBefore(namespace, seed),
    seeds: (namespace) => store.seeds(namespace),
    forget: (namespace, seed) => store.forget(namespace, seed),
    close: () => store.close(),
  };
}

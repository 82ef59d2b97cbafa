// The door of the memory store, with the system's clock and randomness as defaults.
import {
  createSystemClock,
  createSystemRandom,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import type { JobStore } from '../job-store.js';
import {
  MemoryJobStore,
  type MemoryJobStoreDeps,
  type MemoryJobStoreOptions,
} from './memory-job-store.js';

/** Everything in it is gone with the process. */
export function createMemoryJobStore(
  deps: Partial<MemoryJobStoreDeps> = {},
  options: MemoryJobStoreOptions = {},
): JobStore {
  const {
    clock = createSystemClock(),
    random = createSystemRandom(),
    logger = silentLogger,
    metrics = silentMetrics,
  } = deps;
  return new MemoryJobStore({ clock, random, logger, metrics }, options);
}

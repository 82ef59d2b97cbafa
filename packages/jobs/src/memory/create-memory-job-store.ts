// The door of the memory store, with the system's clock and randomness as defaults.
import {
  createSystemClock,
  createSystemRandom,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import type { JobStore } from '../job-store.js';
import { MemoryJobStore, type MemoryJobStoreDeps } from './memory-job-store.js';

/** Everything in it is gone with the process. */
export function createMemoryJobStore(deps: Partial<MemoryJobStoreDeps> = {}): JobStore {
  return new MemoryJobStore({
    clock: deps.clock ?? createSystemClock(),
    random: deps.random ?? createSystemRandom(),
    logger: deps.logger ?? silentLogger,
    metrics: deps.metrics ?? silentMetrics,
  });
}

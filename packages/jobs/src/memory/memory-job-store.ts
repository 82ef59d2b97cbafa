// Jobs of one process, in memory: for tests, for `--memory`, and for programs that need no persistence. It is the
// embedded store on an in-memory storage.
import { createMemoryStorage } from '@syncline/kernel';
import { EmbeddedAdapter } from '../embedded/embedded-adapter.js';
import { LocalJobStore } from '../engine/checked-job-store.js';
import { JobEngine, withSystemDeps } from '../engine/job-engine.js';
import type { EngineDeps } from '../engine/store-adapter.js';
import type { JobStore, StoreCapabilities } from '../job-store.js';
import { ALL_CAPABILITIES } from '../job-store.js';
import { jobsLimits } from '../limits.js';

export type MemoryJobStoreDeps = EngineDeps;

class MemoryAdapter extends EmbeddedAdapter {
  override readonly capabilities: StoreCapabilities = { ...ALL_CAPABILITIES, durability: 'none' };
}

export function createMemoryJobStore(deps: Partial<MemoryJobStoreDeps> = {}): JobStore {
  const all = withSystemDeps(deps);
  const storage = createMemoryStorage(all);
  const adapter = new MemoryAdapter({ ...all, storage }, jobsLimits.compactionKeysMax.value);
  const options = {
    retentionRevisionsMax: jobsLimits.memoryRevisionsMax.value,
    retentionMs: Number.POSITIVE_INFINITY,
  };
  const engine = new JobEngine(adapter, all, options);
  engine.start();
  return new LocalJobStore(engine, all);
}

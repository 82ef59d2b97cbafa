// Jobs of one process, in memory: for tests, for `--memory`, and for programs that need no persistence. It is the
// embedded store on an in-memory storage.
import { createMemoryStorage } from '@syncline/kernel';
import { EmbeddedAdapter } from '../embedded/embedded-adapter.js';
import { JobEngine } from '../engine/job-engine.js';
import { type EngineDeps, withSystemDeps } from '../engine/store-adapter.js';
import { ALL_CAPABILITIES, type JobStore } from '../job-store.js';
import { limitValues } from '../limits.js';

export type MemoryJobStoreDeps = EngineDeps;

export function createMemoryJobStore(deps: Partial<MemoryJobStoreDeps> = {}): JobStore {
  const all = withSystemDeps(deps);
  const storage = createMemoryStorage(all);
  const { compactionKeysMax, memoryStoreRevisionsMax: revisionsMax } = limitValues;
  const adapter = new EmbeddedAdapter({ ...all, storage }, compactionKeysMax, {
    ...ALL_CAPABILITIES,
    durability: 'none',
  });
  const engine = new JobEngine(adapter, all, {
    retentionRevisionsMax: revisionsMax,
    memoryRevisionsMax: revisionsMax,
    retentionMs: Infinity,
  });
  engine.start();
  return engine;
}

// Opens the job store that lives in a Storage of this process.
import { type EngineJobStore, openJobStore } from '../engine/engine-job-store.js';
import type { EngineDeps, EngineOptions } from '../engine/job-engine.js';
import { jobsLimits } from '../limits.js';
import { EmbeddedAdapter, type EmbeddedAdapterDeps } from './embedded-adapter.js';

export type EmbeddedJobStoreDeps = EngineDeps & EmbeddedAdapterDeps;
export type EmbeddedJobStoreOptions = EngineOptions;

/** The storage stays the caller's: close the job store first, then the storage. */
export async function openEmbeddedJobStore(
  deps: EmbeddedJobStoreDeps,
  options: EmbeddedJobStoreOptions = {},
): Promise<EngineJobStore> {
  const keysMax = options.compactionKeysMax ?? jobsLimits.compactionKeysMax.value;
  return openJobStore(new EmbeddedAdapter(deps, keysMax), deps, options);
}

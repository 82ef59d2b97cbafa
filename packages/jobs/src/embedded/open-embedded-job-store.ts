// Opens the job store that lives in a Storage of this process: what the server runs.
import type { JobStore } from '../job-store.js';
import { EmbeddedEngine, type EmbeddedJobStoreDeps } from './embedded-engine.js';
import { EmbeddedJobStore } from './embedded-job-store.js';
import { type EmbeddedJobStoreOptions, embeddedSettings } from './embedded-settings.js';
import type { EmbeddedJobStoreStatus } from './embedded-status.js';
import { readStartFacts } from './start-facts.js';

export type { EmbeddedJobStoreDeps, EmbeddedJobStoreOptions, EmbeddedJobStoreStatus };

/** The storage stays the caller's: close the job store first, then the storage. */
export async function openEmbeddedJobStore(
  deps: EmbeddedJobStoreDeps,
  options: EmbeddedJobStoreOptions = {},
): Promise<JobStore & { status(): EmbeddedJobStoreStatus }> {
  const settings = embeddedSettings(options);
  const start = await readStartFacts(deps, settings.retention);
  if (start.hasBufferedMark) {
    const { generation } = start.row;
    deps.logger.warn('🟡 the job store may have lost buffered writes: cursors of jobs reset', {
      generation,
    });
  }
  return new EmbeddedJobStore(deps, new EmbeddedEngine(deps, settings, start));
}

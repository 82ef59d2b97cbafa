// The store that the configuration names.
import { createMemoryJobStore, type JobStore, openEmbeddedJobStore } from '@syncline/jobs';
import type { ServerConfig } from '../../config/server-config.js';
import type { SliceDeps } from '../../slice.js';
import { openFirestoreStore } from './firestore-store.js';

export type JobStoreKind = ServerConfig['jobs']['store'] | 'memory';

export interface OpenedJobStore {
  readonly store: JobStore;
  /** Figures for /api/status. */
  status(): Readonly<Record<string, unknown>>;
}

/** Without a disk the embedded store is the one in memory. */
export function jobStoreKind({ jobs: { store }, memory }: ServerConfig): JobStoreKind {
  return store === 'embedded' && memory ? 'memory' : store;
}

export async function openJobStore(deps: SliceDeps): Promise<OpenedJobStore> {
  const kind = jobStoreKind(deps.config);
  switch (kind) {
    case 'memory':
      return { store: createMemoryJobStore(deps), status: () => ({}) };
    case 'embedded':
      return await openEmbedded(deps);
    case 'firestore':
      return { store: await openFirestoreStore(deps), status: () => ({}) };
    default:
      return kind satisfies never;
  }
}

async function openEmbedded(deps: SliceDeps): Promise<OpenedJobStore> {
  const storage = await deps.openStorage();
  const store = await openEmbeddedJobStore({ ...deps, storage });
  return {
    store,
    status() {
      const { jobs, subscribers, writeQueue, cacheBytes, logRecords } = store.status();
      return { jobs, subscribers, writeQueue, cacheBytes, logRecords };
    },
  };
}

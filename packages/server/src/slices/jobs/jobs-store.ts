// The store that the configuration names.
import { createMemoryJobStore, type JobStore, openEmbeddedJobStore } from '@syncline/jobs';
import { SynclineError } from '@syncline/kernel';
import type { ServerConfig } from '../../config/server-config.js';
import type { SliceDeps } from '../../slice.js';

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
      return { store: await openFirestore(deps), status: () => ({}) };
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

/** Loaded when it is asked for: the client of Firestore is large, of use to few, and need not be installed. */
async function openFirestore(deps: SliceDeps): Promise<JobStore> {
  const { projectId = '' } = deps.config.jobs.firestore;
  try {
    const { createFirestoreJobStore } = await import('@syncline/jobs/firestore');
    return createFirestoreJobStore({ projectId }, deps);
  } catch (thrown) {
    throw isMissingPackage(thrown) ? missingClient(thrown) : thrown;
  }
}

const CLIENT = '@google-cloud/firestore';

function isMissingPackage(thrown: unknown): thrown is Error {
  return (
    thrown instanceof Error &&
    'code' in thrown &&
    thrown.code === 'ERR_MODULE_NOT_FOUND' &&
    thrown.message.includes(CLIENT)
  );
}

function missingClient(cause: Error): SynclineError {
  return new SynclineError(
    'invalid-argument',
    `jobs.store is "firestore", which needs the package ${CLIENT}, and it is not installed. Install it beside the server with "npm install ${CLIENT}@8", or set jobs.store to "embedded".`,
    { details: { field: 'jobs.store' }, cause },
  );
}

// The store that the configuration names. Few users need a database client, so clients are only loaded if the
// configuration selects them, and need not be installed otherwise.
import { createMemoryJobStore, type JobStore, openEmbeddedJobStore } from '@syncline/jobs';
import type { EngineJobStore } from '@syncline/jobs/store-kit';
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
      return withStatus(await openEmbeddedJobStore({ ...deps, storage: await deps.openStorage() }));
    case 'postgres':
      return withStatus(await openPostgresStore(deps));
    case 'firestore':
      return { store: await openFirestoreStore(deps), status: () => ({}) };
    default:
      return kind satisfies never;
  }
}

function withStatus(store: EngineJobStore): OpenedJobStore {
  return {
    store,
    status() {
      const { jobs, subscribers, writeQueue, cacheBytes, logRecords } = store.status();
      return { jobs, subscribers, writeQueue, cacheBytes, logRecords };
    },
  };
}

const FIRESTORE_CLIENT = { store: 'firestore', name: '@google-cloud/firestore', version: 8 };

const loadFirestore = () => import('@syncline/jobs/firestore');

export function openFirestoreStore(deps: SliceDeps, load = loadFirestore): Promise<JobStore> {
  const { projectId = '' } = deps.config.jobs.firestore; // it is checked with the settings
  return withClient(FIRESTORE_CLIENT, async () => {
    const { createFirestoreJobStore } = await load();
    return createFirestoreJobStore({ projectId }, deps);
  });
}

const POSTGRES_CLIENT = { store: 'postgres', name: 'pg', version: 8 };

function openPostgresStore(deps: SliceDeps): Promise<EngineJobStore> {
  const connectionString = deps.config.credentials.jobsPostgresUrl?.reveal() ?? ''; // it is checked with the settings
  return withClient(POSTGRES_CLIENT, async () => {
    const { createPostgresJobStore } = await import('@syncline/jobs/postgres');
    return createPostgresJobStore({ connectionString }, deps);
  });
}

interface OptionalClient {
  /** The value of `jobs.store` that selects it. */
  readonly store: string;
  readonly name: string;
  readonly version: number;
}

/** If `open` throws because the client is missing, the error says what to install. */
async function withClient<T>(client: OptionalClient, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (thrown) {
    throw isMissing(thrown, client) ? missing(thrown, client) : thrown;
  }
}

function isMissing(thrown: unknown, { name }: OptionalClient): thrown is Error {
  if (!(thrown instanceof Error) || !('code' in thrown)) return false;
  return thrown.code === 'ERR_MODULE_NOT_FOUND' && thrown.message.includes(`'${name}'`);
}

function missing(cause: Error, { store, name, version }: OptionalClient): SynclineError {
  return new SynclineError(
    'invalid-argument',
    `jobs.store is "${store}", which needs the package ${name}, but it is not installed. Install it alongside the server with "npm install ${name}@${version}", or set jobs.store to "embedded".`,
    { details: { field: 'jobs.store' }, cause },
  );
}

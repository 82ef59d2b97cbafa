// Jobs in Firestore. Its client is large and of use to few, so it is loaded only when the configuration asks for it,
// and need not be installed otherwise.
import type { JobStore } from '@syncline/jobs';
import { SynclineError } from '@syncline/kernel';
import type { SliceDeps } from '../../slice.js';

const CLIENT = '@google-cloud/firestore';

const loadStore = () => import('@syncline/jobs/firestore');

export async function openFirestoreStore(deps: SliceDeps, load = loadStore): Promise<JobStore> {
  const { projectId = '' } = deps.config.jobs.firestore; // it is checked with the settings
  try {
    const { createFirestoreJobStore } = await load();
    return createFirestoreJobStore({ projectId }, deps);
  } catch (thrown) {
    throw isMissingClient(thrown) ? missingClient(thrown) : thrown;
  }
}

function isMissingClient(thrown: unknown): thrown is Error {
  if (!(thrown instanceof Error) || !('code' in thrown)) return false;
  return thrown.code === 'ERR_MODULE_NOT_FOUND' && thrown.message.includes(CLIENT);
}

function missingClient(cause: Error): SynclineError {
  return new SynclineError(
    'invalid-argument',
    `jobs.store is "firestore", which needs the package ${CLIENT}, and that is not installed. Install it beside the server with "npm install ${CLIENT}@8", or set jobs.store to "embedded".`,
    { details: { field: 'jobs.store' }, cause },
  );
}

// A server that is configured to use Firestore, with and without the client.
import { expect, test } from 'vitest';
import type { SliceDeps } from '../../slice.js';
import { testConfig } from '../../testing/test-server.js';
import { openFirestoreStore } from './jobs-store.js';

const settings = { jobs: { store: 'firestore', firestore: { projectId: 'my-project-42' } } };
const deps: Partial<SliceDeps> = { config: testConfig({ settings }) };

function failWith(code: string, message: string) {
  return openFirestoreStore(deps as SliceDeps, () => {
    throw Object.assign(new Error(message), { code });
  });
}

test('without the client the error says what to install', async () => {
  const said =
    "Cannot find package '@google-cloud/firestore' imported from /app/firestore-store.js";
  await expect(failWith('ERR_MODULE_NOT_FOUND', said)).rejects.toMatchObject({
    code: 'invalid-argument',
    details: { field: 'jobs.store' },
    message: expect.stringContaining('"npm install @google-cloud/firestore@8"'),
  });
});

test('other errors are reported unchanged', async () => {
  const other = "Cannot find package 'something-else' imported from /app/index.js";
  await expect(failWith('ERR_MODULE_NOT_FOUND', other)).rejects.toThrow('something-else');
  await expect(failWith('ENOENT', '@google-cloud/firestore')).rejects.toThrow('firestore');
});

// Missing and wrong credentials: every call says what to set, and the process lives on.
//
// Each case is a process of its own, since what must not happen is its end. Nothing leaves the machine.
import { spawnSync } from 'node:child_process';
import { startFirestore } from '@syncline/testkit/firestore';
import { expect, test } from 'vitest';
import { at, createStaffedJob } from '../conformance/job-samples.js';
import { createFirestoreJobStore } from './firestore-job-store.js';

/** Of gRPC. The client tries for seven seconds before it tells. */
const PERMISSION_DENIED = 7;

/** Without a home directory, and without a metadata server that could be asked. */
function run(program: string, env: Readonly<Record<string, string>> = {}) {
  const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    env: { HOME: '/nonexistent', METADATA_SERVER_DETECTION: 'none', ...env },
    encoding: 'utf8',
    timeout: 60_000,
  });
  return { status, lines: stdout.trim().split('\n') };
}

const asked = (options: object) => `
  import { createFirestoreJobStore } from '@syncline/jobs/firestore';
  const store = createFirestoreJobStore(${JSON.stringify({ projectId: 'p', host: '127.0.0.1:1', ...options })});
  const tell = ({ code, retryable, message }) => console.log(code, retryable, message);
  await store.getJob('job').catch(tell);
  await store.createJob({ jobId: 'job', numTasks: 1 }).catch(tell);
  await store.aggregate('job', {}).catch(tell);
  try { for await (const event of store.subscribe('job', {})) console.log(event.kind); } catch (thrown) { tell(thrown); }
  await store.close();
  console.log('alive');
`;

test('without credentials the client library alone ends the process', () => {
  const program = `
    import { Firestore } from '@google-cloud/firestore';
    await new Firestore({ projectId: 'p', host: '127.0.0.1:1' }).doc('jobs/job').get();
  `;
  expect(run(program)).toEqual({ status: 1, lines: [''] });
});

const wrongKey = { client_email: 'nobody@localhost', private_key: 'none' };

test.each([
  ['no credentials', asked({}), {}],
  [
    'a key file that is missing',
    asked({}),
    { GOOGLE_APPLICATION_CREDENTIALS: '/nonexistent.json' },
  ],
  ['a key that is none', asked({ credentials: wrongKey }), {}],
])('%s: unavailable, with what to set, and the process lives on', (_, program, env) => {
  const { status, lines } = run(program, env);
  const refused = expect.stringMatching(/^unavailable false .*Set GOOGLE_APPLICATION_CREDENTIALS/);
  expect(lines).toEqual([refused, refused, refused, refused, 'alive']);
  expect(status).toBe(0);
});

test('refused credentials are reported the same way, and calls succeed once Firestore accepts them', async () => {
  await using server = await startFirestore();
  await using store = createFirestoreJobStore({ projectId: 'p', ...server.settings });
  const { writers } = await createStaffedJob(store, { numTasks: 1 });
  server.gate.setFaults({ refusesWith: PERMISSION_DENIED });
  const refused = { code: 'unavailable', details: { reason: 'credentials' } };
  const calls = [at(writers, 0).send('ingest', 1), store.aggregate('job', {})];
  await Promise.all(calls.map((call) => expect(call).rejects.toMatchObject(refused)));
  server.gate.setFaults({});
  await at(writers, 0).set('ingest', 1);
  expect((await store.aggregate('job', {})).cells.running).toBe(1);
});

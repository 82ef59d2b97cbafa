// Jobs inside a server: over gRPC and HTTP, across restarts, in the status, in the metrics, and in Firestore only if
// selected.
import { createJobManager } from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import { makeTempDirectory } from '@syncline/testkit';
import { expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/test-server.js';
import { createJobsSlice } from './jobs-slice.js';

async function answerOf(server: TestServer, path: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${server.port('http')}${path}`);
  return await response.text();
}

/** One task of a job over gRPC writes one state. */
async function writeOne(server: TestServer, message: string): Promise<number> {
  await using store = createRemoteJobStore({ address: `127.0.0.1:${server.port('grpc')}` });
  await using manager = await createJobManager({
    store,
    jobId: 'secret-job',
    taskIndex: 0,
    numTasks: 1,
  });
  const { state } = await manager.setState({ tag: 'secret-tag', status: 5, message });
  return state.version;
}

test('what is written over gRPC is seen over HTTP, after a restart too', async () => {
  await using directory = await makeTempDirectory('jobs');
  const settings = { dataDir: directory.path };
  for (const version of [1, 2]) {
    await using server = await startTestServer([createJobsSlice()], { settings });
    expect(await writeOne(server, `run ${version}`)).toBe(version);
    expect(JSON.parse(await answerOf(server, '/api/jobs/secret-job'))).toMatchObject({
      progress: { lowest: { version, message: `run ${version}` } },
    });
    expect((await server.stop()).failures).toEqual([]);
  }
});

test('status and metrics show numbers, and no name of a job or tag; so does the log', async () => {
  await using directory = await makeTempDirectory('jobs');
  await using server = await startTestServer([createJobsSlice()], {
    settings: { dataDir: directory.path },
  });
  await writeOne(server, 'secret-message');
  const status = await answerOf(server, '/api/status');
  expect(JSON.parse(status)).toMatchObject({
    slices: [{ name: 'jobs', health: { kind: 'ready' }, details: { store: 'embedded', jobs: 1 } }],
  });
  const metrics = await answerOf(server, '/metrics');
  expect(metrics).toMatch(/^syncline_jobs_write_duration_seconds_count 1$/m);
  expect(metrics).toMatch(/^syncline_jobs_jobs 1$/m);
  expect(metrics).toMatch(/^syncline_limit\{package="jobs",limit="jobsMax"\} 10000$/m);
  expect(status + metrics).not.toMatch(/secret-/);
  expect(JSON.stringify(server.log)).not.toMatch(/secret-(tag|message)/);
});

test('without a disk jobs are in memory', async () => {
  await using server = await startTestServer([createJobsSlice()]);
  expect(await writeOne(server, '')).toBe(1);
  expect(JSON.parse(await answerOf(server, '/api/status'))).toMatchObject({
    slices: [{ details: { store: 'memory' } }],
  });
});

test('Firestore if selected: the server starts without contacting it', async () => {
  const jobs = { store: 'firestore', firestore: { projectId: 'my-project-42' } };
  await using server = await startTestServer([createJobsSlice()], { settings: { jobs } });
  expect(JSON.parse(await answerOf(server, '/api/status'))).toMatchObject({
    slices: [{ name: 'jobs', details: { store: 'firestore' } }],
  });
  expect((await server.stop()).failures).toEqual([]);
});

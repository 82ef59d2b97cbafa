// The jobs on a disk that fails: real files, moved away under a running server, or damaged while it was stopped.
import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JobStore, State } from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import { createSystemRandom, SynclineError } from '@syncline/kernel';
import type { Cluster, ClusterNode } from '@syncline/testkit';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { startCluster } from './cluster.js';
import { JobsTask } from './jobs-task.js';

const WAIT = { timeout: 60_000, interval: 5 };
const jobId = 'nightly';
const random = createSystemRandom();
let cluster: Cluster;
let node: ClusterNode;
let store: JobStore;

beforeEach(async () => {
  cluster = await startCluster({ nodes: 1 });
  node = cluster.node(1);
  store = createRemoteJobStore({ address: node.url('grpc') });
});
afterEach(async () => {
  await store.close();
  await cluster[Symbol.asyncDispose]();
});

const database = () => join(node.dataDir, 'jobs', 'db');

test('a disk that fails: `storage-failed`, not ready, no more writes; reads continue', async () => {
  const task = await JobsTask.claim(store, { jobId });
  const kept = new Map<string, State>();
  let status = 0;
  const writeOne = async (): Promise<string> => {
    status += 1;
    const payload = { rows: Buffer.from(random.bytes(30_000)).toString('base64') };
    try {
      const state = await task.set(`tag-${status % 8}`, status, { payload });
      kept.set(state.tag, state);
      return 'applied';
    } catch (thrown) {
      return SynclineError.from(thrown).code;
    }
  };
  for (let count = 0; count < 8; count += 1) expect(await writeOne()).toBe('applied');
  await rename(database(), `${database()}.away`); // the next file that LevelDB creates has no directory
  await vi.waitFor(async () => expect(await writeOne()).toBe('storage-failed'), WAIT);
  expect(await writeOne()).toBe('storage-failed');
  await expect(task.act('release')).rejects.toMatchObject({ code: 'storage-failed' });
  await expect(store.deleteJob(jobId)).rejects.toMatchObject({ code: 'storage-failed' });
  const inOrder = [...kept.values()].sort((a, b) => a.revision - b.revision);
  const page = await store.listStates(jobId, {}, { afterRevision: 0, limit: 1_000 });
  expect(page.states).toEqual(inOrder);
  expect((await store.aggregate(jobId, { taskId: 0 })).cells.running).toBe(8);
  const ready = await fetch(`${node.url('http')}/readyz`);
  expect(ready.status).toBe(503);
  expect(await ready.text()).toContain('jobs');

  await node.kill();
  await rename(`${database()}.away`, database());
  await node.start();
  const again = () => store.listStates(jobId, {}, { afterRevision: 0, limit: 1_000 });
  const found = await vi.waitFor(again, WAIT);
  for (const state of inOrder) {
    const now = found.states.find(({ tag }) => tag === state.tag);
    expect(now?.version).toBeGreaterThanOrEqual(state.version); // a failed write may have been stored
    if (now?.version === state.version) expect(now).toEqual(state);
  }
});

test('a damaged record: `corrupt` for its key and for aggregates that include it, never "not started"', async () => {
  const task = await JobsTask.claim(store, { jobId, numTasks: 1 });
  const secret = Buffer.from(random.bytes(30)).toString('base64'); // text that a table does not compress
  await task.set('damaged', 5, { message: secret });
  await task.set('whole', 6);
  await node.stop();
  await node.start(); // what was in the log is now in a table
  await node.stop();
  expect(await flipInTables(secret)).toBe(1);
  await node.start();
  const corrupt = { code: 'corrupt' };
  const damaged = () => store.getState(jobId, 0, 'damaged');
  await vi.waitFor(() => expect(damaged()).rejects.toMatchObject(corrupt), WAIT);
  for (const scope of [{}, { taskId: 0 }, { tag: 'damaged' }])
    await expect(store.aggregate(jobId, scope)).rejects.toMatchObject(corrupt);
  const response = await fetch(`${node.url('http')}/api/jobs/${jobId}`);
  expect(await response.json()).toMatchObject(corrupt);
  expect(response.status).toBe(500);
  expect(await store.getState(jobId, 0, 'whole')).toMatchObject({ status: 6, version: 1 });
  expect((await store.aggregate(jobId, { tag: 'whole' })).lowest.status).toBe(6);
  expect((await task.set('whole', 7)).version).toBe(2);
  await JobsTask.claim(store, { jobId: 'other' });
  expect((await fetch(`${node.url('http')}/readyz`)).status).toBe(200);
});

/** Flips one bit at each place in the tables where the text occurs. */
async function flipInTables(text: string): Promise<number> {
  let count = 0;
  const names = (await readdir(database())).filter((name) => name.endsWith('.ldb'));
  for (const name of names) {
    const path = join(database(), name);
    const bytes = await readFile(path);
    const at = bytes.indexOf(text);
    if (at < 0) continue;
    bytes[at + 10] = (bytes[at + 10] ?? 0) ^ 1;
    await writeFile(path, bytes);
    count += 1;
  }
  return count;
}

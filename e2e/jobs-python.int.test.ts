// The worker of docs/jobs-python.md, as it stands there, with stubs generated from the contract: it reports from start to
// end, continues across a server outage, and stops when another process takes over its task.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createJobManager } from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import { makeTempDirectory } from '@syncline/testkit';
import { expect, test } from 'vitest';
import { startCluster } from './cluster.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Debian's own Python, which has gRPC as a package. */
const PYTHON = '/usr/bin/python3';
const AWAY_MS = 2_000;

async function prepareWorker(directory: string): Promise<string> {
  const page = await readFile(join(ROOT, 'docs/jobs-python.md'), 'utf8');
  const [, program = ''] = /```python\n([\s\S]*?)```/.exec(page) ?? [];
  const path = join(directory, 'worker.py');
  await writeFile(path, program);
  const plugin = '--plugin=protoc-gen-grpc_python=/usr/bin/grpc_python_plugin';
  const outputs = [`--python_out=${directory}`, `--grpc_python_out=${directory}`];
  const contract = join(ROOT, 'proto/syncline/jobs/v1/jobs.proto');
  await promisify(execFile)('protoc', [`-I${join(ROOT, 'proto')}`, ...outputs, plugin, contract]);
  return path;
}

function runWorker(path: string, address: string, jobId: string) {
  const child = spawn(PYTHON, [path, address, jobId, '0', '1'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text;
  });
  const ended = once(child, 'close').then(([code]: unknown[]) => ({ code, complaint }));
  return { ended, kill: () => child.kill('SIGKILL') };
}

test('a worker in Python reports to the end, across a server outage', async () => {
  await using directory = await makeTempDirectory('python-worker');
  await using cluster = await startCluster({ nodes: 1 });
  const node = cluster.node(1);
  const path = await prepareWorker(directory.path);
  const address = node.url('grpc');
  await using store = createRemoteJobStore({ address });
  const worker = runWorker(path, address, 'from-python');
  await expect
    .poll(
      async () =>
        (await store.getState('from-python', 0, 'ingest').catch(() => undefined))?.progress,
      {
        timeout: 60_000,
      },
    )
    .toBeGreaterThan(0.1);
  await node.kill();
  await sleep(AWAY_MS);
  await node.start();
  expect(await worker.ended).toEqual({
    code: 0,
    complaint: expect.stringMatching(/^cannot reach the server, retrying: .+\n$/), // once
  });
  const state = await store.getState('from-python', 0, 'ingest');
  // One version for each write, whatever was sent twice.
  expect(state).toMatchObject({ statusClass: 'finished', message: '⚫ Finished', version: 12 });
  expect((await store.aggregate('from-python', {})).percent).toBe(100);
});

test('a worker in Python stops when its task is taken over', async () => {
  await using directory = await makeTempDirectory('python-worker');
  await using cluster = await startCluster({ nodes: 1 });
  const path = await prepareWorker(directory.path);
  const address = cluster.node(1).url('grpc');
  await using store = createRemoteJobStore({ address });
  const worker = runWorker(path, address, 'taken');
  await expect
    .poll(
      async () => (await store.getState('taken', 0, 'ingest').catch(() => undefined))?.version,
      {
        timeout: 60_000,
      },
    )
    .toBeGreaterThan(1);
  await using job = await createJobManager({ store, jobId: 'taken', taskIndex: 0, numTasks: 1 });
  await job.setState({ tag: 'ingest', status: 30 });
  expect(await worker.ended).toMatchObject({
    code: 1,
    complaint: expect.stringContaining('another process has taken over the task'),
  });
});

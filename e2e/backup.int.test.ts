// docs/backup.md: a copy of the data directory of a paused server is a backup of everything that it acknowledged.
import { cp } from 'node:fs/promises';
import { createFairTracker, type FairTracker } from '@syncline/fair';
import { grpcRemote } from '@syncline/fair/grpc';
import { makeTempDirectory } from '@syncline/testkit';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { CliProcess } from './cli-process.js';
import { startCluster } from './cluster.js';

const MEMBERS = 500;
const ANY_PORTS = ['http', 'grpc', 'resp', 'mesh'].flatMap((name) => [`--${name}-port`, '0']);

async function putJson(url: string, body: unknown): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'PUT', headers, body: JSON.stringify(body) });
  expect(response.status, await response.text()).toBeLessThan(300);
}

/** Instances with the same secret share what they know of a caller. */
function connectTracker(address: string): FairTracker {
  return createFairTracker({
    remote: grpcRemote({ address, tracker: 'api' }),
    secret: 'the same on every instance',
    lambdaPerSecond: 0.001,
  });
}

test('a server starts from a copy of a paused one, with its fair buckets, sets and jobs', async () => {
  await using copy = await makeTempDirectory('backup');
  await using cluster = await startCluster({ nodes: 1 });
  const node = cluster.node(1);
  const jobs = `${node.url('http')}/api/jobs/nightly`;
  await putJson(jobs, { numTasks: 2 });
  await putJson(`${jobs}/tasks/0/tags/ingest`, { status: 1, message: '500 files' });
  const redis = new Redis(node.address('resp').port);
  for (let member = 0; member < MEMBERS; member += 1) await redis.sadd('kept', `member ${member}`);
  const first = connectTracker(node.url('grpc'));
  for (let failure = 0; failure < 10; failure += 1) first.report('noisy', 'failure');
  await first.close();
  const persisted = /^syncline_fair_persist_seconds_count.* [1-9]/m;
  await expect
    .poll(async () => (await fetch(`${node.url('http')}/metrics`)).text())
    .toMatch(persisted);
  node.signal('SIGSTOP');
  await cp(node.dataDir, copy.path, { recursive: true });
  node.signal('SIGCONT');
  await redis.sadd('kept', 'after the copy');
  redis.disconnect();

  await using restored = new CliProcess(['serve', '--data-dir', copy.path, ...ANY_PORTS]);
  const url = await restored.url();
  const portOf = (name: string) =>
    restored.listeners().find(({ listener }) => listener === name)?.port ?? 0;
  await using second = connectTracker(`127.0.0.1:${portOf('grpc')}`);
  await expect.poll(() => second.peek('noisy').probability).toBeGreaterThan(0);
  const client = new Redis(portOf('resp'));
  expect(await client.scard('kept')).toBe(MEMBERS);
  client.disconnect();
  const answer = await fetch(`${url}/api/jobs/nightly/states`);
  expect(await answer.json()).toMatchObject({
    states: [{ taskId: 0, tag: 'ingest', message: '500 files' }],
  });
});

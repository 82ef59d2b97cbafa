// Two servers over one PostgreSQL, behind one address, like a load balancer or a host name with two addresses: one of
// them is killed, and workers and watchers continue with the other.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createJobManager, type JobManager } from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import { CommittedLog, checkCommitted, checkTrace } from '@syncline/jobs/testing';
import { type ClusterNode, startPostgres } from '@syncline/testkit';
import { expect, test } from 'vitest';
import { startCluster } from './cluster.js';
import { JobsFollower } from './jobs-follower.js';

const NUM_TASKS = 4;
const WRITES = 40;
const reconnect = { attempts: 1_000, initialMs: 50, maxMs: 200 };

/** Connects each client to the first server that accepts it. */
async function startBalancer(nodes: readonly ClusterNode[]) {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    sockets.add(client);
    client.once('close', () => sockets.delete(client)).on('error', () => client.destroy());
    const tryNext = ([node, ...others]: readonly ClusterNode[]) => {
      if (!node) return client.destroy();
      const upstream = connect(node.address('grpc').port, '127.0.0.1');
      const refused = () => tryNext(others);
      upstream.once('error', refused);
      upstream.once('connect', () => {
        upstream.off('error', refused).on('error', () => client.destroy());
        upstream.once('close', () => client.destroy());
        client.once('close', () => upstream.destroy());
        client.pipe(upstream).pipe(client);
      });
      return upstream;
    };
    tryNext(nodes);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

test('workers and watchers of a killed server continue with the other one', async () => {
  await using database = await startPostgres();
  await using cluster = await startCluster({
    nodes: 2,
    env: {
      SYNCLINE_JOBS_STORE: 'postgres',
      SYNCLINE_JOBS_POSTGRES_URL: database.connectionString(),
    },
  });
  const [first, second] = [cluster.node(1), cluster.node(2)];
  await using balancer = await startBalancer([first, second]);
  await using store = createRemoteJobStore({ address: balancer.address, reconnect });
  await using other = createRemoteJobStore({ address: second.url('grpc') });
  const jobId = 'shared';
  const log = new CommittedLog();
  const { job } = await store.createJob({ jobId, numTasks: NUM_TASKS, expectedTags: ['ingest'] });
  log.addJob(job);
  const open = (taskIndex: number) =>
    createJobManager(
      // The first two through the shared address, the others to the second server directly.
      { store: taskIndex < 2 ? store : other, jobId, taskIndex, numTasks: NUM_TASKS },
      { lease: { ttlMs: 5_000 } },
    );
  const managers: JobManager[] = [];
  for (let taskIndex = 0; taskIndex < NUM_TASKS; taskIndex += 1)
    managers.push(await open(taskIndex));
  const watchers = [store, other].map(
    (from) => new JobsFollower(from, log, { jobId, scope: {}, isWhole: true }),
  );
  const work = managers.map(async (manager) => {
    for (let status = 2; status < WRITES; status += 1) {
      const result = await manager.setState({ tag: 'ingest', status, progress: status / WRITES });
      if (!result.applied) throw new Error('no other client writes this key');
      expect(result.state.version).toBe(status - 1);
      log.addState(job.incarnation, result.state);
      if (status === WRITES / 2 && manager === managers[0]) await first.kill();
    }
    const { state } = await manager.setFinished({ tag: 'ingest' });
    log.addState(job.incarnation, state);
    await manager.close();
  });
  await Promise.all(work);
  expect((await other.aggregate(jobId, {})).percent).toBe(100);
  const { revision = 0 } = (await other.getJob(jobId)) ?? {};
  for (const watcher of watchers)
    await expect.poll(() => watcher.error ?? watcher.revision, { timeout: 60_000 }).toBe(revision);
  await Promise.all(watchers.map((watcher) => watcher.stop()));
  expect(checkCommitted(log, { mayMiss: false, history: 'all' })).toEqual([]);
  for (const watcher of watchers) expect(checkTrace(watcher.trace())).toEqual([]);
  expect(watchers[0]?.count('stale')).toBeGreaterThan(0);
  expect(watchers[1]?.count('stale')).toBe(0);
});

// Real nodes whose data directory was lost or replaced by an old copy: a node gets its state back from its peers, and
// where that is impossible it reports that instead of guessing.
import { cp, rm } from 'node:fs/promises';
import type { ClusterNode } from '@syncline/testkit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { digestOf, type MeshedCluster, startMeshedCluster } from './sets-cluster.js';

const AT_MOST = { timeout: 60_000, interval: 50 };

async function withClient<T>(node: ClusterNode, body: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(node.address('resp').port);
  try {
    return await body(redis);
  } finally {
    redis.disconnect();
  }
}

const write = (node: ClusterNode, command: 'sadd' | 'srem', ...members: readonly string[]) =>
  withClient(node, (redis) => redis[command]('set', ...members));

const members = async (node: ClusterNode) =>
  (await withClient(node, (redis) => redis.smembers('set'))).toSorted();

function nodeOf({ nodes }: MeshedCluster, id: number): ClusterNode {
  const node = nodes[id - 1];
  if (node === undefined) throw new Error(`no node ${id}`);
  return node;
}

async function readiness(node: ClusterNode): Promise<string> {
  const response = await fetch(`${node.url('http')}/readyz`);
  return `${response.status} ${await response.text()}`;
}

function cut(cluster: MeshedCluster, one: number, other: number): void {
  for (const link of cluster.linkOf(one, other)) link.set({ blackhole: true });
}

function heal(cluster: MeshedCluster): void {
  for (const link of cluster.proxies) link.heal();
}

async function expectEqual(...nodes: readonly ClusterNode[]): Promise<void> {
  await vi.waitFor(async () => {
    const digests = await Promise.all(nodes.map(digestOf));
    expect(new Set(digests).size, digests.join('\n')).toBe(1);
  }, AT_MOST);
}

/** Stops a node and copies its directory. */
async function backUp(node: ClusterNode): Promise<string> {
  const copy = `${node.dataDir}-copy`;
  await node.stop();
  await rm(copy, { recursive: true, force: true });
  await cp(node.dataDir, copy, { recursive: true });
  return copy;
}

async function restore(node: ClusterNode, copy: string): Promise<void> {
  await rm(node.dataDir, { recursive: true });
  await cp(copy, node.dataDir, { recursive: true });
}

describe('with one peer', () => {
  let cluster: MeshedCluster;
  beforeAll(async () => {
    cluster = await startMeshedCluster({ nodes: 2 });
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  test('S3 an old copy continues under a new epoch and is ready once it has the rest; so is an empty directory', async () => {
    const [one, two] = [nodeOf(cluster, 1), nodeOf(cluster, 2)];
    await write(one, 'sadd', 'a', 'b');
    await expectEqual(one, two);
    const copy = await backUp(one);
    await one.start();
    await write(one, 'sadd', 'c');
    await write(one, 'srem', 'a');
    await expectEqual(one, two);
    await one.stop();
    await restore(one, copy);
    await one.start();
    expect(await members(one)).toEqual(['b', 'c']);
    await write(one, 'sadd', 'd');
    await expectEqual(one, two);
    await one.kill();
    await rm(one.dataDir, { recursive: true });
    await one.start();
    expect(await members(one)).toEqual(['b', 'c', 'd']);
  });

  test('S3 an old copy that has written before it reached a peer ends with exit code 5', async () => {
    const [one, two] = [nodeOf(cluster, 1), nodeOf(cluster, 2)];
    await write(one, 'sadd', 'a');
    await expectEqual(one, two);
    const copy = await backUp(one);
    await one.start();
    await write(one, 'sadd', 'b', 'd', 'e');
    await expectEqual(one, two);
    await one.stop();
    await restore(one, copy);
    const before = await digestOf(two);
    cut(cluster, 1, 2);
    const started = one.start().catch((thrown: Error) => thrown.message);
    await vi.waitFor(async () => {
      expect(await readiness(one)).toMatch(/^503 .*waiting for the first pull from a peer/s);
    }, AT_MOST);
    await write(one, 'sadd', 'c');
    heal(cluster);
    const message = await started;
    expect(message).toMatch(/ended \(exit code 5\)/);
    expect(message).toMatch(/the data directory was restored from a copy/);
    await one.kill(); // it has exited as expected
    expect(await digestOf(two)).toBe(before);
  });
});

test('S39 nodes that differ at the same version report it, log the dots and repair nothing', async () => {
  await using cluster = await startMeshedCluster({ nodes: 3 });
  const [one, two, three] = [nodeOf(cluster, 1), nodeOf(cluster, 2), nodeOf(cluster, 3)];
  await write(one, 'sadd', 'a', 'b');
  await expectEqual(one, two, three);
  const copy = await backUp(one);
  // The first node uses one dot twice: to add for the second node, and from the old copy to remove for the third.
  cut(cluster, 2, 3);
  cut(cluster, 1, 3);
  await one.start();
  await write(one, 'sadd', 'c');
  await expectEqual(one, two);
  await one.stop();
  await restore(one, copy);
  for (const link of cluster.linkOf(1, 3)) link.heal();
  cut(cluster, 1, 2);
  await one.start();
  await write(one, 'srem', 'b');
  await expectEqual(one, three);
  await one.stop();
  heal(cluster);
  for (const [node, peer, onlyHere, onlyThere] of [
    [two, 3, '"1.\\d+:2","1.\\d+:3"', ''],
    [three, 2, '', '"1.\\d+:2","1.\\d+:3"'],
  ] as const) {
    await vi.waitFor(async () => {
      expect(await readiness(node)).toMatch(new RegExp(`^503 .*diverged from node ${peer}`, 's'));
    }, AT_MOST);
    const dots = new RegExp(`"onlyHere":\\[${onlyHere}\\],"onlyThere":\\[${onlyThere}\\]`);
    await vi.waitFor(() => expect(node.tail()).toMatch(dots), AT_MOST);
    const metrics = await (await fetch(`${node.url('http')}/metrics`)).text();
    expect(metrics).toMatch(/^syncline_sets_divergence_total 1$/m);
  }
  expect([await members(two), await members(three)]).toEqual([['a', 'b', 'c'], ['a']]);
}, 90_000);

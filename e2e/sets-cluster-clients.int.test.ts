// Redis clients in a cluster: what is written on one node is read on another, by WAIT, by SYNCLINE.READ AFTER and by
// a quorum, with ioredis and redis-py.
import type { ClusterNode } from '@syncline/testkit';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { runProgram } from './run-program.js';
import { digestOf, type MeshedCluster, startMeshedCluster } from './sets-cluster.js';

let cluster: MeshedCluster;
beforeAll(async () => {
  cluster = await startMeshedCluster({ nodes: 3 });
  await vi.waitFor(async () => {
    for (const node of cluster.nodes) expect(await connectedPeers(node)).toBe(2);
  }, AT_MOST);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const AT_MOST = { timeout: 60_000, interval: 50 };

async function connectedPeers(node: ClusterNode): Promise<number> {
  const response = await fetch(`${node.url('http')}/api/status`);
  const { peers } = (await response.json()) as { peers: readonly { state: string }[] };
  return peers.filter(({ state }) => state === 'connected').length;
}

const clients: Redis[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.disconnect();
});

function clientOf(id: number): Redis {
  const node = cluster.nodes[id - 1];
  if (node === undefined) throw new Error(`no node ${id}`);
  const client = new Redis(node.address('resp').port);
  clients.push(client);
  return client;
}

test('WAIT resolves when the peers have applied the write', async () => {
  const [one, two, three] = [clientOf(1), clientOf(2), clientOf(3)];
  await one.sadd('fruits', 'apple', 'pear');
  expect(await one.call('WAIT', 2, 60_000)).toBe(2);
  expect((await two.smembers('fruits')).toSorted()).toEqual(['apple', 'pear']);
  expect((await three.smembers('fruits')).toSorted()).toEqual(['apple', 'pear']);
});

test('SYNCLINE.READ AFTER gives read-your-writes on another node', async () => {
  const [one, two] = [clientOf(1), clientOf(2)];
  for (let n = 0; n < 100; n += 1) {
    await one.sadd('log', `line ${n}`);
    const version = String(await one.call('SYNCLINE.VV', 'MINE'));
    const command = ['AFTER', version, 'TIMEOUT', '60000', 'SISMEMBER', 'log', `line ${n}`];
    expect(await two.call('SYNCLINE.READ', ...command)).toBe(1);
  }
});

test('a quorum read sees what a majority has acknowledged', async () => {
  const [one, three] = [clientOf(1), clientOf(3)];
  await one.sadd('votes', 'yes');
  await one.call('WAIT', 1, 60_000);
  const command = ['QUORUM', 'MAJORITY', 'TIMEOUT', '60000', 'SMEMBERS', 'votes'];
  expect(await three.call('SYNCLINE.READ', ...command)).toEqual(['yes']);
});

test('an add on one side of a partition wins over a remove on the other', async () => {
  const [one, two] = [clientOf(1), clientOf(2)];
  await one.sadd('tags', 'new');
  await one.call('WAIT', 2, 60_000);
  const links = [...cluster.linkOf(1, 2), ...cluster.linkOf(2, 3)];
  for (const link of links) link.set({ blackhole: true });
  await two.srem('tags', 'new');
  await one.sadd('tags', 'new');
  for (const link of links) link.heal();
  await vi.waitFor(async () => {
    const digests = await Promise.all(cluster.nodes.map((node) => digestOf(node)));
    expect(new Set(digests).size).toBe(1);
  }, AT_MOST);
  expect(await two.sismember('tags', 'new')).toBe(1);
});

const PYTHON = `
import sys, redis
one, two = (redis.Redis(port=int(port), decode_responses=True) for port in sys.argv[1:])
for n in range(50):
    one.sadd("python", f"m{n}")
assert one.wait(2, 60000) == 2
assert two.scard("python") == 50, two.scard("python")
one.srem("python", "m0")
version = one.execute_command("SYNCLINE.VV", "MINE")
assert two.execute_command("SYNCLINE.READ", "AFTER", version, "TIMEOUT", 60000, "SISMEMBER", "python", "m0") == 0
print("ok")
`;

test('redis-py writes on one node and reads on another', async () => {
  const ports = [1, 2].map((id) => String(cluster.nodes[id - 1]?.address('resp').port));
  const { stdout } = await runProgram('/usr/bin/python3', ['-c', PYTHON, ...ports]);
  expect(stdout.trim()).toBe('ok');
});

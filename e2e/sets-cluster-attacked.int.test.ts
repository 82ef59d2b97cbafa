// Attacks on the mesh port of real nodes: by someone without the secret, and by a peer that has it and breaks the
// protocol. All are refused and logged once, change nothing, and do not disturb clients or other peers.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import {
  type Address,
  createSystemClock,
  createSystemRandom,
  silentLogger,
  silentMetrics,
  VersionVector,
} from '@syncline/kernel';
import { createTcpNetwork } from '@syncline/kernel/node';
import { createMesh, type Mesh, type MeshOptions } from '@syncline/mesh';
import { encodeMeshOperations, encodeSetsChange } from '@syncline/protocol/operations';
import type { Cluster, ClusterNode } from '@syncline/testkit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { startCluster } from './cluster.js';
import { digestOf } from './sets-cluster.js';

const SECRET = 'a-secret-of-the-cluster-in-32-bytes';
const CLUSTER_ID = 'attacked';
/** A configured peer that is not running: the attacker impersonates it. */
const ABSENT = 3;
const AT_MOST = { timeout: 60_000, interval: 50 };

let cluster: Cluster;
let target: ClusterNode;
let digest: string;
let reconnects: number;
let attackedMs: number;

beforeAll(async () => {
  cluster = await startCluster({
    nodes: 2,
    isMeshed: true,
    args: ['--peer', `${ABSENT}@127.0.0.1:1`],
    env: { SYNCLINE_MESH_SECRET: SECRET, SYNCLINE_MESH_CLUSTER_ID: CLUSTER_ID },
  });
  target = cluster.node(1);
  const redis = new Redis(target.address('resp').port);
  await redis.sadd('set', 'a', 'b', 'c');
  expect(await redis.call('WAIT', 1, 60_000)).toBe(1);
  redis.disconnect();
  attackedMs = performance.now();
});
afterAll(() => cluster[Symbol.asyncDispose]());

beforeEach(async () => {
  digest = await digestOf(target);
  reconnects = (await otherNode()).reconnects;
});

/** Nothing has changed, both nodes are connected, and clients are served. */
async function expectUnharmed(): Promise<void> {
  expect(await digestOf(target)).toBe(digest);
  expect(await digestOf(cluster.node(2))).toBe(digest);
  expect(await otherNode()).toMatchObject({ state: 'connected', reconnects });
}

interface PeerFacts {
  readonly nodeId: number;
  readonly state: string;
  readonly reconnects: number;
  readonly pendingOperations: number;
}

async function peersOf(node: ClusterNode): Promise<readonly PeerFacts[]> {
  const response = await fetch(`${node.url('http')}/api/status`);
  const { peers } = (await response.json()) as { readonly peers: readonly PeerFacts[] };
  return peers;
}

/** The second node, as seen by the first. */
async function otherNode(): Promise<PeerFacts> {
  const found = (await peersOf(target)).find(({ nodeId }) => nodeId === 2);
  if (found === undefined) throw new Error('node 1 has no peer 2');
  return found;
}

const refusals = () => target.tail().match(/"msg":"mesh connection refused"/g)?.length ?? 0;

describe('M5 without the secret', () => {
  const frame = (length: number, ...bytes: readonly number[]) => {
    const head = Buffer.alloc(4);
    head.writeUInt32BE(length);
    return Buffer.concat([head, Buffer.from(bytes)]);
  };
  test.each([
    ['random bytes', Buffer.from('b9f1d30c57e2a8440b1e', 'hex')],
    ['a frame of length 0', frame(0)],
    ['a frame of 4 GiB', frame(0xffff_ffff)],
    ['a frame above the limit of a handshake', frame(4_097, 0x12)],
    ['a heartbeat before the handshake', frame(4, 0x2a, 0x02, 0x08, 0x01)],
    ['operations before the handshake', frame(2, 0x32, 0x00)],
    ['an HTTP request', Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n')],
    ['a TLS greeting', Buffer.from('160301020001000001fc0303', 'hex')],
  ])('%s is refused at once', async (_, bytes) => {
    const socket = await openSocket(target.address('mesh'));
    socket.write(bytes);
    await ended(socket);
    await expectUnharmed();
  });

  test('half a frame, a silent client and one byte at a time end after the time for a handshake', async () => {
    const startMs = performance.now();
    const half = await openSocket(target.address('mesh'));
    half.write(frame(100, 0x12));
    const silent = await openSocket(target.address('mesh'));
    const slow = await openSocket(target.address('mesh'));
    const drip = setInterval(() => slow.write(Buffer.of(0)), 200);
    slow.write(frame(4_000).subarray(0, 3));
    await Promise.all([half, silent, slow].map(ended));
    clearInterval(drip);
    expect(performance.now() - startMs).toBeLessThan(30_000);
    await expectUnharmed();
  });

  test.each([
    ['another secret', { secret: 'not the secret' }],
    ['no secret', { secret: '' }],
    ['another cluster', { clusterId: 'other' }],
    ['a node id that is not configured', { nodeId: 9 }],
    ["the target's own node id", { nodeId: 1 }],
  ] satisfies readonly (readonly [string, Partial<MeshOptions>])[])(
    '%s is refused',
    async (_, options) => {
      await using attacker = joinAs(options, () => []);
      await vi.waitFor(() => {
        const [peer] = attacker.peers();
        expect(peer?.lastError).toMatch(/the peer refused the connection|closed the connection/);
      }, AT_MOST);
      await expectUnharmed();
    },
  );

  test('a flood of connections costs neither the peer nor clients their connections', async () => {
    const redis = new Redis(target.address('resp').port);
    // Most are closed at once, some before they know that they were connected.
    const opened = await Promise.allSettled(
      Array.from({ length: 500 }, () => openSocket(target.address('mesh'))),
    );
    const sockets = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    const startMs = performance.now();
    for (let n = 0; n < 50; n += 1) expect(await redis.sismember('set', 'a')).toBe(1);
    expect(performance.now() - startMs).toBeLessThan(20_000);
    redis.disconnect();
    await expectUnharmed();
    await vi.waitFor(() => {
      const open = sockets.filter(({ destroyed, readableEnded }) => !destroyed && !readableEnded);
      expect(open.length).toBeLessThanOrEqual(64);
    }, AT_MOST);
    for (const socket of sockets) socket.destroy();
  });

  test('a restarted peer can connect while both mesh ports are flooded', async () => {
    await using flood = startFlood(cluster.nodes.map((node) => node.address('mesh')));
    const before = flood.openedCount;
    await cluster.node(2).restart();
    await vi.waitFor(async () => {
      expect(await otherNode()).toMatchObject({ state: 'connected', reconnects: reconnects + 1 });
      expect(flood.openedCount - before).toBeGreaterThan(1_000);
    }, AT_MOST);
    expect(await digestOf(cluster.node(2))).toBe(digest);
  });

  test('all of it is logged in one line per minute, and counted', async () => {
    await vi.waitFor(() => expect(refusals()).toBeGreaterThan(0), AT_MOST);
    expect(refusals()).toBeLessThanOrEqual(1 + (performance.now() - attackedMs) / 60_000);
    const metrics = await (await fetch(`${target.url('http')}/metrics`)).text();
    const [, failures = '0'] = /^syncline_mesh_auth_failures_total (\d+)$/m.exec(metrics) ?? [];
    expect(Number(failures)).toBeGreaterThanOrEqual(4);
  });
});

/** Attacks as the absent peer, with the secret. */
describe('with the secret', () => {
  const add = (...members: readonly string[]) =>
    encodeSetsChange({
      sets: [{ set: Buffer.from('set'), add: members.map((member) => Buffer.from(member)) }],
    });
  const rawDot = (node: number, epoch: number, high: number, low: number) => {
    const bytes = Buffer.alloc(12);
    bytes.writeUInt16BE(node, 0);
    bytes.writeUInt16BE(epoch, 2);
    bytes.writeUInt32BE(high, 4);
    bytes.writeUInt32BE(low, 8);
    return bytes;
  };
  const none = new Uint8Array(0);
  const operation = (dot: Uint8Array, count = 1, body = add('evil'), dependencies = none) =>
    encodeMeshOperations({ operations: [{ dot, count, dependencies, body }] });
  const own = rawDot(ABSENT, 5, 0, 1);

  test.each([
    ['an operation of another node', operation(rawDot(2, 5, 0, 1))],
    ['an operation of the target itself', operation(rawDot(1, 5, 0, 1))],
    ['an operation of another epoch', operation(rawDot(ABSENT, 6, 0, 1))],
    ['counter 0', operation(rawDot(ABSENT, 5, 0, 0))],
    ['counter 2^53', operation(rawDot(ABSENT, 5, 2 ** 21, 0))],
    ['a range beyond 2^53', operation(rawDot(ABSENT, 5, 2 ** 21 - 1, 0xffff_ffff), 2)],
    ['more counters than elements', operation(own, 4_000_000_000)],
    ['more than 4,096 causes', operation(own, 1, add('evil'), Buffer.alloc(12 * 4_097))],
    ['a body that is not one', operation(own, 1, Buffer.from('not a change'))],
    ['a member that is too long', operation(own, 1, add('x'.repeat(65_537)))],
  ])('%s is refused, and nothing of it is applied', async (_, encoded) => {
    await using attacker = joinAs({}, () => [encoded]);
    await vi.waitFor(() => {
      const [peer] = attacker.peers();
      expect(peer?.lastError).toMatch(/the peer closed the connection \(protocol/);
    }, AT_MOST);
    await expectUnharmed();
  });

  test('a counter far ahead is held and never applied', async () => {
    const far = operation(rawDot(ABSENT, 5, 1_000_000, 1));
    await using attacker = joinAs({}, () => [far]);
    await vi.waitFor(() => expect(attacker.peers()[0]?.state).toBe('connected'), AT_MOST);
    await vi.waitFor(async () => {
      const held = (await peersOf(target)).map(({ pendingOperations }) => pendingOperations);
      expect(held.reduce((sum, count) => sum + count, 0)).toBe(1);
    }, AT_MOST);
    await expectUnharmed();
  });

  test('a second process with the id of a running peer is refused', async () => {
    await using attacker = joinAs({ nodeId: 2, secret: SECRET }, () => []);
    await vi.waitFor(() => {
      expect(attacker.peers()[0]?.lastError).toMatch(/node-id-in-use/);
    }, AT_MOST);
    await expectUnharmed();
  });
});

/** A mesh that dials the target and publishes these bytes as its first operations, whatever they are. */
function joinAs(options: Partial<MeshOptions>, published: () => readonly Uint8Array[]): Mesh {
  const deps = {
    clock: createSystemClock(),
    random: createSystemRandom(),
    network: createTcpNetwork(),
    logger: silentLogger,
    metrics: silentMetrics,
  };
  const nodeId = options.nodeId ?? ABSENT;
  const { host, port } = target.address('mesh');
  const mesh = createMesh(deps, {
    clusterId: CLUSTER_ID,
    secret: SECRET,
    ...options,
    nodeId,
    peers: [{ nodeId: nodeId === 1 ? 7 : 1, host, port }],
  });
  const channel = mesh.channel('sets', {
    appliedCounter: () => 0,
    version: () => new VersionVector(),
    deliver: () => 'wait',
    message: () => {},
    peerUp: () => {},
    peerDown: () => {},
    pullWanted: () => {},
  });
  for (const [index, encoded] of published().entries())
    channel.publish(encoded, index + 1, index + 1);
  mesh.open(5);
  return mesh;
}

/** Keeps opening silent connections, more than a node keeps, and reopens those it closes. */
function startFlood(targets: readonly Address[]) {
  const sockets = new Set<Socket>();
  let openedCount = 0;
  let isOver = false;
  const open = ({ host, port }: Address) => {
    if (isOver) return;
    const socket = connect({ host, port });
    sockets.add(socket);
    openedCount += 1;
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(socket);
      setTimeout(open, 5, { host, port });
    });
  };
  for (const address of targets) for (let n = 0; n < 200; n += 1) open(address);
  return {
    get openedCount() {
      return openedCount;
    },
    async [Symbol.asyncDispose]() {
      isOver = true;
      for (const socket of sockets) socket.destroy();
    },
  };
}

async function openSocket({ host, port }: Address): Promise<Socket> {
  const socket = connect({ host, port });
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.resume();
  return socket;
}

async function ended(socket: Socket): Promise<void> {
  // Not by `once`, which throws if the connection is reset.
  if (!socket.closed) await new Promise<void>((resolve) => socket.once('close', () => resolve()));
}

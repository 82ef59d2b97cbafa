// How nodes connect, which connection stays, which peers are refused, and how connections end.
import { actorId, dot, VersionVector } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { encodeFrame } from './frame-codec.js';
import { meshLimits } from './limits.js';
import { encodeOperation } from './testing/encode-operation.js';
import { RawPeer } from './testing/raw-peer.js';
import { PORT, TestNode, type TestNodeOptions } from './testing/test-node.js';

const never = new AbortController().signal;

/** Runs a body in which nodes can be started. */
function inWorld<T>(
  body: (world: SimulatedBody, start: (options: TestNodeOptions) => TestNode) => Promise<T>,
  seed = 1,
): Promise<T> {
  return runInSimulation(seed, (world) =>
    body(world, (options) => new TestNode(world.simulation, options)),
  );
}

test('operations of three nodes reach all of them, and are acknowledged', async () => {
  await inWorld(async ({ clock }, start) => {
    const nodes = [1, 2, 3].map((nodeId) => start({ nodeId }));
    await clock.sleep(500);
    for (let round = 0; round < 20; round += 1) {
      for (const { slice } of nodes) slice.add(1 + (round % 3), Buffer.from(`${round}`));
      await clock.sleep(7);
    }
    await clock.sleep(100);
    for (const { disk, mesh, slice } of nodes) {
      expect(disk.version.toString()).toBe('1.0:39,2.0:39,3.0:39');
      expect(slice.channel?.appliedCount(39)).toBe(2);
      for (const status of mesh.peers()) {
        expect(status).toMatchObject({ state: 'connected', lagOperations: 0, lagMs: 0 });
        expect(status).toMatchObject({ unackedOperations: 0, pendingOperations: 0, retries: 0 });
      }
    }
    await clock.sleep(1_000);
    const [node] = nodes;
    expect(node?.count('syncline_mesh_peer_state 2')).toBe(2);
    expect(node?.count('syncline_mesh_lag_seconds 2')).toBeGreaterThan(5);
    expect(node?.count('syncline_mesh_frames_total 2 out operations')).toBeGreaterThan(5);
    expect(node?.count('syncline_mesh_bytes_total 2 in ack')).toBeGreaterThan(100);
  });
});

test('M30 both sides dial, and one connection per pair is kept', async () => {
  for (let seed = 1; seed <= 10; seed += 1) {
    await inWorld(async ({ clock, simulation }, start) => {
      const nodes = [1, 2, 3].map((nodeId) => start({ nodeId }));
      simulation.network.adjust({ delayMs: 60 }); // longer than the head start
      await clock.sleep(3_000);
      for (const { node, states } of nodes) {
        expect(node.connectionsCount).toBe(2);
        expect(Object.values(states)).toEqual(['connected', 'connected']);
      }
    }, seed);
  }
});

test('M30 on a fast network the lower id dials alone', async () => {
  await inWorld(async ({ clock }, start) => {
    const nodes = [1, 2, 3].map((nodeId) => start({ nodeId }));
    await clock.sleep(1_000);
    for (const { mesh } of nodes) {
      expect(mesh.peers().map(({ reconnects }) => reconnects)).toEqual([0, 0]);
    }
    expect(nodes[0]?.lines.filter((line) => line.includes('"dialed":true'))).toHaveLength(2);
    expect(nodes[2]?.lines.filter((line) => line.includes('"dialed":true'))).toHaveLength(0);
  });
});

test('M30 replacing a connection dialed by the other side does not count as a reconnect', async () => {
  let replaced = 0;
  for (let seed = 1; seed <= 40; seed += 1) {
    await inWorld(async ({ clock, simulation }, start) => {
      simulation.network.adjust({ tailProbability: 0.3, tailMsMax: 1_000 });
      const nodes = [2, 1].map((nodeId) => start({ nodeId, peerIds: [3 - nodeId] }));
      await clock.sleep(10_000);
      for (const { mesh, lines } of nodes) {
        replaced += lines.filter((line) => line.includes('connection replaced')).length;
        expect(lines.filter((line) => line.includes('peer connected'))).toHaveLength(1);
        expect(mesh.peers()).toMatchObject([{ state: 'connected', reconnects: 0 }]);
      }
    }, seed);
  }
  expect(replaced).toBeGreaterThan(0);
});

test('M30 another connection of the same process replaces the old one', async () => {
  await inWorld(async (world, start) => {
    const node = start({ nodeId: 2, peerIds: [1] });
    await world.clock.sleep(10);
    const first = await RawPeer.up(world, { nodeId: 1, to: 2 });
    await world.clock.sleep(100);
    expect(node.states).toEqual({ 1: 'connected' });
    const second = await RawPeer.up(world, { nodeId: 1, to: 2 });
    await world.clock.sleep(100);
    expect(first.closeCode).toBe('duplicate');
    expect(second.isEnded).toBe(false);
    expect(node.mesh.peers()).toMatchObject([{ state: 'connected', reconnects: 1 }]);
  });
});

test('M30 another process with the same node id is refused until the old one is silent', async () => {
  await inWorld(async (world, start) => {
    const node = start({ nodeId: 2, peerIds: [1] });
    await world.clock.sleep(10);
    const first = await RawPeer.up(world, { nodeId: 1, to: 2 });
    await world.clock.sleep(100);
    const other = { nodeId: 1, to: 2, bootId: new Uint8Array(16).fill(9) };
    const second = await RawPeer.up(world, other);
    await world.clock.sleep(100);
    expect(second.closeCode).toBe('node-id-in-use');
    expect(first.isEnded).toBe(false);
    await world.clock.sleep(2_000); // the first says nothing more
    const third = await RawPeer.up(world, other);
    await world.clock.sleep(100);
    expect(first.closeCode).toBe('duplicate');
    expect(third.isEnded).toBe(false);
    expect(node.states).toEqual({ 1: 'connected' });
  });
});

test('M3 unknown peers, another cluster and a wrong secret are refused without detail, and logged once a minute', async () => {
  await inWorld(async (world, start) => {
    const node = start({ nodeId: 2, peerIds: [1] });
    await world.clock.sleep(10);
    const refused = () => node.lines.filter((line) => line.startsWith('mesh connection refused'));
    for (const [options, code] of [
      [{ nodeId: 9 }, 'refused'],
      [{ nodeId: 1, clusterId: 'prod' }, 'cluster'],
      [{ nodeId: 1, secret: 'guess' }, 'refused'],
      [{ nodeId: 2 }, 'refused'],
    ] as const) {
      const peer = await RawPeer.dial(world, { to: 2, ...options });
      await peer.authenticate(world);
      await world.clock.sleep(50);
      expect(peer.received('close')).toMatchObject([{ code, text: '' }]);
      expect(peer.received('heartbeat')).toEqual([]); // no version is shown
      expect(peer.isEnded).toBe(true);
    }
    expect(refused()).toHaveLength(1);
    expect(refused()[0]).toContain('node 9 is not among the configured peers');
    expect(node.count('syncline_mesh_auth_failures_total')).toBe(4);
    await world.clock.sleep(60_000);
    await (await RawPeer.dial(world, { nodeId: 9, to: 2 })).authenticate(world);
    await world.clock.sleep(50);
    expect(refused()).toHaveLength(2);
  });
});

test('M5 a client that sends nothing, or too much, before it is authenticated is disconnected', async () => {
  await inWorld(async (world, start) => {
    const node = start({ nodeId: 2, peerIds: [1] });
    await world.clock.sleep(10);
    const silent = await RawPeer.dial(world, { nodeId: 1, to: 2 });
    const large = await RawPeer.dial(world, { nodeId: 1, to: 2 });
    large.sendBytes(Uint8Array.of(0, 0, 16, 1));
    const early = await RawPeer.dial(world, { nodeId: 1, to: 2 });
    early.send({ channel: 1, kind: 'version-query', id: 1 });
    const ungreeting = await RawPeer.dial(world, { nodeId: 1, to: 2 });
    await ungreeting.authenticate(world);
    await world.clock.sleep(200);
    expect([large.closeCode, early.closeCode]).toEqual(['protocol', 'protocol']);
    expect(silent.isEnded || ungreeting.isEnded).toBe(false);
    await world.clock.sleep(5_000);
    expect([silent.closeCode, ungreeting.closeCode]).toEqual(['protocol', 'protocol']);
    await world.clock.sleep(2_000);
    expect(node.node.connectionsCount).toBe(0);
  });
});

test('M5 above the limit of handshakes the oldest one is ended, and peers can still connect', async () => {
  await inWorld(async (world, start) => {
    const node = start({ nodeId: 2, peerIds: [1] });
    await world.clock.sleep(10);
    const peers: RawPeer[] = [];
    const dial = async () => peers.push(await RawPeer.dial(world, { nodeId: 1, to: 2 }));
    for (let each = 0; each <= meshLimits.handshakesMax.value; each += 1) await dial();
    await world.clock.sleep(100);
    expect(peers.filter(({ isEnded }) => isEnded)).toEqual([peers[0]]);
    const peer = peers.at(-1);
    await peer?.authenticate(world);
    peer?.greet(new VersionVector());
    await world.clock.sleep(100);
    expect(node.states).toEqual({ 1: 'connected' });
  });
});

test('M7 a peer that falls silent is dead after 5 s, and dialed again', async () => {
  await inWorld(async ({ clock, simulation }, start) => {
    const nodes = [1, 2].map((nodeId) => start({ nodeId, peerIds: [1, 2] }));
    await clock.sleep(1_000);
    simulation.network.partition(['n1'], ['n2']);
    await clock.sleep(4_000);
    expect(nodes.map(({ states }) => Object.values(states))).toEqual([
      ['connected'],
      ['connected'],
    ]);
    await clock.sleep(2_000);
    for (const { mesh } of nodes) {
      const [peer] = mesh.peers();
      expect(peer?.state).toBe('down');
      expect(clock.nowMs() - (peer?.sinceMs ?? 0)).toBeGreaterThan(900); // although it is dialed again
      expect(mesh.peers()[0]?.lastError).toContain('nothing was received for 5000 ms');
      expect(mesh.peers()[0]?.silentMs).toBeGreaterThan(5_000);
    }
    simulation.network.heal();
    await clock.sleep(12_000);
    expect(nodes.map(({ states }) => Object.values(states))).toEqual([
      ['connected'],
      ['connected'],
    ]);
    expect(nodes[0]?.mesh.peers()[0]?.reconnects).toBeGreaterThan(0);
    expect(nodes[0]?.count('syncline_mesh_reconnects_total')).toBeGreaterThan(0);
  });
});

test('M7 a quiet connection is kept alive by heartbeats that are answered', async () => {
  await inWorld(async (world, start) => {
    start({ nodeId: 2, peerIds: [1] });
    await world.clock.sleep(10);
    const peer = await RawPeer.up(world, { nodeId: 1, to: 2 });
    for (let sequence = 2; sequence < 12; sequence += 1) {
      await world.clock.sleep(3_000);
      peer.send({ channel: 0, kind: 'heartbeat', sequence, isReply: false, channels: [] });
    }
    await world.clock.sleep(100);
    expect(peer.isEnded).toBe(false);
    const heartbeats = peer.received('heartbeat');
    const replies = heartbeats.filter(({ isReply }) => isReply);
    expect(replies.map(({ sequence }) => sequence)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(heartbeats.length - replies.length).toBeGreaterThan(20);
    expect(heartbeats[0]?.channels.map(({ name }) => name)).toEqual(['list']);
  });
});

test('M31 waits between dials grow up to 10 s, with full jitter', async () => {
  await inWorld(async ({ clock }, start) => {
    const node = start({ nodeId: 1, peerIds: [2] });
    const warnings = () => node.lines.filter((line) => line.startsWith('cannot connect to peer'));
    await clock.sleep(4_000);
    expect(warnings()).toHaveLength(0); // the other node may still be starting
    await clock.sleep(96_000);
    expect(node.mesh.peers()).toMatchObject([
      { nodeId: 2, address: 'n2:7403', silentMs: undefined },
    ]);
    expect(node.states[2]).toBe('down');
    expect(warnings()).toHaveLength(1);
  });
});

test('channels are numbered by the sorted names that both sides have', async () => {
  await inWorld(async (world, start) => {
    start({ nodeId: 2, peerIds: [1], channels: ['list', 'zoo', 'apes'] });
    await world.clock.sleep(10);
    const peer = await RawPeer.dial(world, { nodeId: 1, to: 2 });
    await peer.authenticate(world);
    const channels = ['zoo', 'unknown', 'list'].map((name) => ({
      name,
      version: new VersionVector(),
    }));
    peer.send({ channel: 0, kind: 'heartbeat', sequence: 1, isReply: false, channels });
    peer.send({ channel: 2, kind: 'version-query', id: 7 });
    await world.clock.sleep(100);
    expect(peer.received('heartbeat')[0]?.channels.map(({ name }) => name)).toEqual([
      'apes',
      'list',
      'zoo',
    ]);
    expect(peer.received('version-reply')).toMatchObject([{ channel: 2, id: 7 }]);
    peer.send({ channel: 3, kind: 'version-query', id: 7 });
    await world.clock.sleep(100);
    expect(peer.closeCode).toBe('protocol');
  });
});

test('the first contact waits for every reachable peer, and not for unreachable ones', async () => {
  await inWorld(async ({ clock, simulation }, start) => {
    const nodes = [1, 2].map((nodeId) => start({ nodeId }));
    await clock.sleep(5);
    await Promise.all(nodes.map(({ mesh }) => mesh.firstContact(never)));
    expect(simulation.nowMs).toBeLessThan(200);
    expect(nodes.map(({ states }) => states)).toMatchObject([
      { 2: 'connected' },
      { 1: 'connected' },
    ]);
  });
  await inWorld(async ({ clock, simulation }, start) => {
    const node = start({ nodeId: 1, peerIds: [2] });
    start({ nodeId: 2 });
    simulation.network.partition(['n1'], ['n2']);
    await clock.sleep(5);
    const control = new AbortController();
    const contact = node.mesh.firstContact(control.signal);
    await clock.sleep(1_000);
    control.abort();
    await contact;
    expect(simulation.nowMs).toBeLessThan(1_100);
  });
});

test('peers answer a version request with what they have committed', async () => {
  await inWorld(async ({ clock, simulation }, start) => {
    const nodes = [1, 2, 3].map((nodeId) => start({ nodeId }));
    await clock.sleep(500);
    nodes[1]?.slice.add(2, Buffer.from('x'));
    await clock.sleep(100);
    const channel = nodes[0]?.slice.channel;
    const asked = await channel?.askVersions(2, never);
    expect(asked?.map(String)).toEqual(['2.0:2', '2.0:2']);
    expect(await channel?.askVersions(1, never)).toHaveLength(1);
    expect(await channel?.askVersions(0, never)).toEqual([]);
    simulation.network.partition(['n1'], ['n2']);
    const control = new AbortController();
    const waiting = channel?.askVersions(2, control.signal);
    await clock.sleep(200);
    control.abort();
    expect(await waiting).toHaveLength(1);
    // A disconnected peer no longer answers.
    const gone = channel?.askVersions(2, never);
    expect(await gone).toHaveLength(1);
    expect(channel?.connectedPeers()).toEqual([3]);
  });
});

test('a caller waiting for peers to apply an operation is notified when they have, or at its timeout', async () => {
  await inWorld(async ({ clock, simulation }, start) => {
    const nodes = [1, 2, 3].map((nodeId) => start({ nodeId }));
    await clock.sleep(500);
    const { slice } = nodes[0] ?? start({ nodeId: 9 });
    slice.add(3, Buffer.from('x'));
    expect(await slice.channel?.whenApplied(3, 2, never)).toBe(2);
    expect(slice.channel?.appliedCount(3)).toBe(2);
    expect(slice.channel?.appliedCount(4)).toBe(0);
    simulation.network.partition(['n1'], ['n3']);
    slice.add(1, Buffer.from('y'));
    const control = new AbortController();
    const waiting = slice.channel?.whenApplied(4, 2, control.signal);
    await clock.sleep(300);
    control.abort();
    expect(await waiting).toBe(1);
  });
});

test('a new epoch closes all connections, and operations of the new actor arrive', async () => {
  await inWorld(async ({ clock }, start) => {
    const nodes = [1, 2].map((nodeId) => start({ nodeId, peerIds: [1, 2] }));
    await clock.sleep(500);
    nodes[0]?.slice.add(1, Buffer.from('old'));
    await clock.sleep(100);
    nodes[0]?.mesh.changeEpoch(5);
    expect(nodes[0]?.states).toEqual({ 2: 'down' });
    await clock.sleep(500);
    expect(nodes[0]?.states).toEqual({ 2: 'connected' });
    const encoded = encodeOperation({ dot: dot(actorId(1, 5), 1), count: 1 });
    nodes[0]?.slice.channel?.publish(encoded, 1, 1);
    await clock.sleep(100);
    expect(nodes[1]?.disk.version.toString()).toBe('1.0:1,1.5:1');
  });
});

test('M32 closing sends unsent bytes and a close frame, and leaves no timer and no connection', async () => {
  await inWorld(async ({ clock, simulation }, start) => {
    const nodes = [1, 2, 3].map((nodeId) => start({ nodeId }));
    await clock.sleep(500);
    const { slice, mesh, node } = nodes[0] ?? start({ nodeId: 9 });
    for (let each = 0; each < 50; each += 1) slice.add(1, new Uint8Array(30_000));
    await clock.sleep(1.5);
    const startedMs = simulation.nowMs;
    await mesh.close();
    expect(simulation.nowMs - startedMs).toBeLessThan(1_000);
    await clock.sleep(100);
    expect(nodes.map(({ disk }) => disk.version.toString())).toEqual([
      '1.0:50',
      '1.0:50',
      '1.0:50',
    ]);
    expect([node.pendingTimersCount, node.connectionsCount]).toEqual([0, 0]);
    expect(nodes[1]?.lines.at(-2)).toMatch(/peer disconnected .*shutdown: the node is stopping/);
    await mesh.close();
    slice.add(1, Buffer.from('late'));
    await clock.sleep(5); // publishing to a closed mesh does nothing
    expect(node.pendingTimersCount).toBe(0);
  });
});

test('M32 closing takes at most a second when a peer does not read or a dial hangs', async () => {
  await inWorld(async (world, start) => {
    const node = start({ nodeId: 2, peerIds: [1, 3] });
    await world.clock.sleep(10);
    await RawPeer.up(world, { nodeId: 1, to: 2 });
    world.simulation.addNode('n3', () => {});
    world.simulation.network.partition(['n2'], ['n3', 'test']);
    await world.clock.sleep(200);
    const startedMs = world.simulation.nowMs;
    await node.mesh.close();
    expect(world.simulation.nowMs - startedMs).toBeLessThan(1_010);
    expect(node.node.pendingTimersCount).toBe(0);
  });
});

test('M8 a peer that does not read what it asked for is disconnected, and costs bounded memory', async () => {
  await inWorld(async (world, start) => {
    const node = start({ nodeId: 2, peerIds: [1] });
    for (let epoch = 1; epoch < 4_000; epoch += 1) {
      node.disk.version.merge(VersionVector.of(dot(actorId(7, epoch), epoch)));
    }
    await world.clock.sleep(10);
    const peer = await RawPeer.up(world, { nodeId: 1, to: 2 });
    await world.clock.sleep(100);
    world.simulation.network.block(['n2'], ['test']);
    const query = encodeFrame({ channel: 1, kind: 'version-query', id: 1 });
    for (let each = 0; each < 1_000; each += 1) peer.sendBytes(query);
    await world.clock.sleep(1_000);
    expect(node.lines.join()).toContain('the peer does not read what it is sent');
  });
});

test('M8 messages are refused while too many bytes are unsent, and to a disconnected peer', async () => {
  await inWorld(async (world, start) => {
    const node = start({ nodeId: 2, peerIds: [1] });
    await world.clock.sleep(10);
    const peer = await RawPeer.up(world, { nodeId: 1, to: 2 });
    await world.clock.sleep(100);
    const { channel } = node.slice;
    expect(channel?.send(1, 16, Buffer.from('hello'))).toBe(true);
    expect(channel?.send(3, 16, Buffer.from('hello'))).toBe(false);
    await world.clock.sleep(10);
    expect(
      peer.received('message').map(({ field, body }) => [field, Buffer.from(body).toString()]),
    ).toContainEqual([16, 'hello']);
    world.simulation.network.block(['n2'], ['test']);
    const megabyte = new Uint8Array(1024 * 1024);
    let sent = 0;
    while (channel?.send(1, 13, megabyte)) sent += 1;
    expect(sent).toBeGreaterThan(14);
    expect(sent).toBeLessThanOrEqual(16);
    expect(node.states).toEqual({ 1: 'connected' });
  });
});

test('two nodes with the same port and id elsewhere do not disturb each other', async () => {
  await inWorld(async ({ network, clock }, start) => {
    const node = start({ nodeId: 1, peerIds: [2] });
    // Another program listens where the peer should be.
    start({ nodeId: 2, peerIds: [1], clusterId: 'other' });
    await clock.sleep(1_000);
    expect(node.states[2]).not.toBe('connected');
    expect(node.mesh.peers()[0]?.lastError).toMatch(/cluster/);
    await expect(network.connect({ host: 'n1', port: PORT })).resolves.toBeDefined();
  });
});

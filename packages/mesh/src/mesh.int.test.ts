// The mesh over real sockets: plain, with certificates, and with a peer that stops reading.
import {
  actorId,
  assert,
  type Connection,
  createSystemClock,
  createSystemRandom,
  dot,
  type Listener,
  type Network,
  silentLogger,
  silentMetrics,
  VersionVector,
} from '@syncline/kernel';
import { createTcpNetwork, createTlsNetwork } from '@syncline/kernel/node';
import { makeCertificates } from '@syncline/testkit';
import { expect, test } from 'vitest';
import { meshLimits } from './limits.js';
import type { ChannelHandler, Mesh, MeshChannel, MeshOptions } from './mesh.js';
import { createMesh } from './open-mesh.js';
import { encodeOperation } from './testing/encode-operation.js';

const clock = createSystemClock();
const random = createSystemRandom();
const deadline = () => AbortSignal.timeout(30_000);

interface Node extends AsyncDisposable {
  readonly nodeId: number;
  readonly mesh: Mesh;
  readonly channel: MeshChannel;
  readonly version: VersionVector;
  readonly gauges: ReadonlyMap<string, number>;
  /** Operations delivered in one turn of the event loop, at most. */
  readonly turnDeliveriesMax: number;
  /** Publishes an operation of this many bytes and returns its counter. */
  publish(bytes: number): number;
}

/** Nodes 1 to n, each with its own network. */
async function startNodes(
  networks: readonly Network[],
  options: Partial<MeshOptions> = {},
): Promise<readonly Node[]> {
  const nodes: Node[] = [];
  const listeners = await Promise.all(
    networks.map((network, index) =>
      network.listen({ host: '127.0.0.1', port: 0 }, (each) => nodes[index]?.mesh.accept(each)),
    ),
  );
  const peers = listeners.map(({ address }, index) => ({ nodeId: index + 1, ...address }));
  for (const [index, listener] of listeners.entries()) {
    const network = networks[index];
    if (network === undefined) continue;
    const settings = { clusterId: 'test', secret: 'secret', peers, ...options };
    nodes.push(startNode(network, listener, { ...settings, nodeId: index + 1 }));
  }
  await Promise.all(nodes.map(({ mesh }) => mesh.firstContact(deadline())));
  return nodes;
}

function startNode(network: Network, listener: Listener, options: MeshOptions): Node {
  const { nodeId } = options;
  const actor = actorId(nodeId, 0);
  const version = new VersionVector();
  const gauges = new Map<string, number>();
  const metrics = {
    ...silentMetrics,
    set: (name: string, value: number) => gauges.set(name, value),
  };
  const deps = { clock, random, network, logger: silentLogger, metrics };
  const mesh = createMesh(deps, options);
  let [turnDeliveries, turnDeliveriesMax] = [0, 0];
  const handler: ChannelHandler = {
    appliedCounter: (of) => version.counterOf(of),
    version: () => version,
    deliver({ actor: from, base, count }) {
      version.advance(from, base + count - 1);
      turnDeliveries += 1;
      if (turnDeliveries === 1) {
        clock.defer(() => {
          turnDeliveriesMax = Math.max(turnDeliveries, turnDeliveriesMax);
          turnDeliveries = 0;
          channel.committed();
        });
      }
      return 'taken';
    },
    message() {},
    peerUp() {},
    peerDown() {},
    pullWanted() {},
  };
  const channel = mesh.channel('test', handler);
  mesh.open(0);
  return {
    nodeId,
    mesh,
    channel,
    version,
    gauges,
    get turnDeliveriesMax() {
      return turnDeliveriesMax;
    },
    publish(bytes) {
      const counter = version.counterOf(actor) + 1;
      version.advance(actor, counter);
      const body = new Uint8Array(bytes);
      channel.publish(
        encodeOperation({ dot: dot(actor, counter), count: 1, body }),
        counter,
        counter,
      );
      return counter;
    },
    async [Symbol.asyncDispose]() {
      await mesh.close();
      await listener.close();
    },
  };
}

test('three nodes over TCP: all operations are applied everywhere', async () => {
  const nodes = await startNodes([1, 2, 3].map(() => createTcpNetwork()));
  await using _ = closingAll(nodes);
  let last = 0;
  for (let turn = 0; turn < 300; turn += 1) {
    for (const { publish } of nodes) for (let each = 0; each < 10; each += 1) last = publish(30);
    await new Promise((resolve) => setImmediate(resolve));
  }
  for (const { channel } of nodes) expect(await channel.whenApplied(last, 2, deadline())).toBe(2);
  for (const { version } of nodes) expect(version.toString()).toBe('1.0:3000,2.0:3000,3.0:3000');
  for (const { mesh } of nodes) {
    expect(mesh.peers()).toMatchObject([{ state: 'connected' }, { state: 'connected' }]);
  }
});

test('M3 certificates that name the nodes replace a secret', async () => {
  await using certificates = await makeCertificates();
  const { ca, server, client } = certificates;
  const networkOf = ({ cert, key }: typeof server) => createTlsNetwork({ cert, key, ca: ca.cert });
  const options = { secret: '', usesCertificates: true };
  {
    const nodes = await startNodes([networkOf(server), networkOf(client)], options);
    await using _ = closingAll(nodes);
    const counter = nodes[0]?.publish(30) ?? 0;
    expect(await nodes[0]?.channel.whenApplied(counter, 1, deadline())).toBe(1);
  }
  {
    // Node 2 shows the certificate of node 1.
    const nodes = await startNodes([networkOf(server), networkOf(server)], options);
    await using _ = closingAll(nodes);
    for (const { mesh } of nodes) expect(mesh.peers()[0]?.state).not.toBe('connected');
  }
});

test('M8 a peer that stops reading costs no more than the ring, and others are not affected', async () => {
  let isStalled = false;
  const stallable = (connection: Connection): Connection => ({
    local: connection.local,
    remote: connection.remote,
    peerUris: connection.peerUris,
    incoming: connection.incoming,
    closed: connection.closed,
    get unsentBytes() {
      return connection.unsentBytes;
    },
    readBy: ({ take, end }) =>
      connection.readBy({
        take: (chunk) => (isStalled ? new Promise(() => {}) : take(chunk)),
        end,
      }),
    write: (chunk) => connection.write(chunk),
    drained: (signal) => connection.drained(signal),
    end: () => connection.end(),
    destroy: (reason) => connection.destroy(reason),
    [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
  });
  const plain = createTcpNetwork();
  const slow: Network = {
    listen: (address, accept) => plain.listen(address, (each) => accept(stallable(each))),
    connect: async (address, options) => stallable(await plain.connect(address, options)),
  };
  const ringBytesMax = 4 * 1024 * 1024;
  const nodes = await startNodes([createTcpNetwork(), createTcpNetwork(), slow], { ringBytesMax });
  await using _ = closingAll(nodes);
  const [writer] = nodes;
  if (writer === undefined) throw new Error('there are nodes');
  isStalled = true;
  for (let round = 0; round < 40; round += 1) {
    let last = 0;
    for (let each = 0; each < 10; each += 1) last = writer.publish(60_000);
    expect(await writer.channel.whenApplied(last, 1, deadline())).toBe(1);
  }
  const [second, third] = writer.mesh.peers();
  expect(second).toMatchObject({ nodeId: 2, state: 'connected' });
  expect(third?.state).not.toBe('connected'); // behind, or given up already
  await clock.sleep(1_100); // gauges are set once a second
  expect(writer.gauges.get('syncline_mesh_ring_bytes')).toBeLessThanOrEqual(ringBytesMax);
});

function closingAll(nodes: readonly Node[]): AsyncDisposable {
  return {
    async [Symbol.asyncDispose]() {
      await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()));
    },
  };
}

test('M27 a peer that sends a lot does not starve others', async () => {
  const [one, two] = await startNodes([createTcpNetwork(), createTcpNetwork()]);
  assert(one !== undefined && two !== undefined, 'two nodes were started');
  await using _one = one;
  await using _two = two;
  let last = 0;
  for (let n = 0; n < 10_000; n += 1) last = one.publish(1_000);
  await one.channel.whenApplied(last, 1, deadline());
  const frames = meshLimits.receiveTurnBytes.value + meshLimits.pushFrameBytesMax.value;
  expect(two.turnDeliveriesMax).toBeLessThanOrEqual(frames / 1_000);
});

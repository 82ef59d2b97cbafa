// A node that comes back to a cluster with a million members, of which a tenth has changed meanwhile: how long it
// takes from the first connection until all nodes are equal, and how many bytes that takes on the wire, both ways.
//
//   sets-rejoin        pushes are enough: what it missed is still in the rings of its peers
//   sets-rejoin-pull   the rings are too small, so it has to pull
//   sets-rejoin-copy   its directory was restored from a copy made before the changes
//   sets-rejoin-empty  its directory is gone: a full copy
import { cp, rm } from 'node:fs/promises';
import { setTimeout as afterMs } from 'node:timers/promises';
import { type Cluster, type ClusterNode, startCluster } from '@syncline/testkit';
import type { Redis } from 'ioredis';
import type { AnyBench, Measured } from './bench.js';
import { fillSet } from './sets-benchmark.js';
import { withClient } from './sets-servers.js';

const MEMBERS = 1_000_000;
/** A tenth of the changes are removes. */
const CHANGES = 100_000;
const BATCH = 1_000;
const POLL_MS = 10;
/** Frames are counted with each heartbeat. */
const COUNTED_MS = 1_500;
const MEMBER_BYTES = 20;
const MB = 1e6;

interface Rejoin {
  readonly about: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly directory: 'kept' | 'copied' | 'removed';
  readonly msMax: number;
  readonly megabytesMax: number;
}

interface RejoinFigures {
  readonly ms: number;
  readonly megabytes: number;
}

async function measureRejoins(rejoin: Rejoin, runs: number): Promise<readonly RejoinFigures[]> {
  await using cluster = await startCluster({
    nodes: 3,
    isMeshed: true,
    readyTimeoutMs: 60_000,
    ...(rejoin.env && { env: rejoin.env }),
  });
  await fillSet(portOf(cluster.node(1)), 'set', MEMBERS);
  await untilEqual(cluster);
  const figures: RejoinFigures[] = [];
  for (let round = 0; round < runs; round += 1) {
    figures.push(await measureRejoin(cluster, rejoin, round));
  }
  return figures;
}

async function measureRejoin(
  cluster: Cluster,
  { directory }: Rejoin,
  round: number,
): Promise<RejoinFigures> {
  const [writer, away] = [cluster.node(1), cluster.node(3)];
  const copy = `${away.dataDir}-copy`;
  await away.stop(60_000);
  if (directory === 'copied') {
    await cp(away.dataDir, copy, { recursive: true });
    await away.start();
  }
  await withClient(portOf(writer), (client) => changeMembers(client, round));
  if (directory === 'copied') {
    await withClient(portOf(away), (client) => client.sadd('set', `of node 3, round ${round}`));
    await untilEqual(cluster);
    await away.stop(60_000);
  }
  if (directory !== 'kept') await rm(away.dataDir, { recursive: true });
  if (directory === 'copied') await cp(copy, away.dataDir, { recursive: true });
  await rm(copy, { recursive: true, force: true });
  const starting = away.start();
  starting.catch(() => {}); // it is awaited below
  await untilConnected(writer, away.id);
  const startMs = performance.now();
  await starting;
  await untilEqual(cluster);
  const ms = performance.now() - startMs;
  await afterMs(COUNTED_MS);
  return { ms, megabytes: (await meshBytesOf(away)) / MB };
}

async function changeMembers(client: Redis, round: number): Promise<void> {
  for (let at = 0; at < CHANGES; at += BATCH) {
    const numbers = Array.from({ length: BATCH }, (_, n) => round * CHANGES + at + n);
    const names = numbers.map((number) => String(number).padStart(12, '0'));
    if (at < CHANGES / 10) await client.srem('set', ...names.map((name) => `element:${name}`));
    else await client.sadd('set', ...names.map((name) => `another:${name}`));
  }
}

function portOf(node: ClusterNode): number {
  return node.address('resp').port;
}

async function untilConnected(node: ClusterNode, peer: number): Promise<void> {
  interface Status {
    readonly peers: readonly { readonly nodeId: number; readonly state: string }[];
  }
  for (;;) {
    const response = await fetch(`${node.url('http')}/api/status`);
    const { peers } = (await response.json()) as Status;
    if (peers.find(({ nodeId }) => nodeId === peer)?.state === 'connected') return;
    await afterMs(POLL_MS);
  }
}

async function untilEqual({ nodes }: Cluster): Promise<void> {
  const digestOf = (node: ClusterNode) =>
    withClient(portOf(node), async (client) => String(await client.call('SYNCLINE.DIGEST')));
  for (;;) {
    const digests = await Promise.all(nodes.map(digestOf));
    if (new Set(digests).size === 1) return;
    await afterMs(POLL_MS);
  }
}

/** Bytes sent and received since its start, over all peers. */
async function meshBytesOf(node: ClusterNode): Promise<number> {
  const metrics = await (await fetch(`${node.url('http')}/metrics`)).text();
  let bytes = 0;
  for (const [, count] of metrics.matchAll(/^syncline_mesh_bytes_total\{.*\} (\d+)$/gm)) {
    bytes += Number(count);
  }
  return bytes;
}

function benchesOf(name: string, rejoin: Rejoin): readonly AnyBench[] {
  let figures: Promise<readonly RejoinFigures[]> | undefined;
  const benchOf = (
    suffix: string,
    unit: string,
    atMost: number,
    figureOf: (figures: RejoinFigures) => number,
  ): AnyBench => ({
    name: `${name}${suffix}`,
    unit,
    better: 'less',
    isLong: true,
    versions: [],
    about: `${rejoin.about}, ${CHANGES} of ${MEMBERS} members changed; from the first connection to equal digests`,
    async measure(runs): Promise<readonly Measured[]> {
      figures ??= measureRejoins(rejoin, runs);
      return [
        { contestant: 'syncline serve, 3 nodes', values: (await figures).map(figureOf) },
        { contestant: 'at most', values: [atMost] },
      ];
    },
  });
  return [
    benchOf('', 'ms', rejoin.msMax, ({ ms }) => ms),
    benchOf('-bytes', 'MB', rejoin.megabytesMax, ({ megabytes }) => megabytes),
  ];
}

const repaired = { msMax: 3_000, megabytesMax: 8 };

export const setsRejoinBenches: readonly AnyBench[] = [
  ...benchesOf('sets-rejoin', { about: 'a node was stopped', directory: 'kept', ...repaired }),
  ...benchesOf('sets-rejoin-pull', {
    about: 'a node was stopped and has to pull',
    env: { SYNCLINE_MESH_RING_BYTES_MAX: String(2 ** 20) },
    directory: 'kept',
    ...repaired,
  }),
  ...benchesOf('sets-rejoin-copy', {
    about: 'a node starts on an old copy of its directory',
    directory: 'copied',
    ...repaired,
  }),
  ...benchesOf('sets-rejoin-empty', {
    about: 'a node starts empty',
    directory: 'removed',
    msMax: 10_000,
    megabytesMax: ((MEMBERS + 8 * CHANGES) * (MEMBER_BYTES + 16)) / MB,
  }),
];

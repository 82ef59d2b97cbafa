// Three real nodes behind proxies, under load, while they are killed, paused and cut off from each other: no
// acknowledged write is lost, nothing that was removed returns, and at rest all nodes are equal.
//
// Each writer stays with one node and has its own elements, so it knows what must be there. SETS_CLUSTER_ROUNDS (6)
// says how many faults there are. SETS_FIGURES=1 prints figures.
import { setTimeout as sleep } from 'node:timers/promises';
import { createSystemRandom, randomBelow } from '@syncline/kernel';
import type { ClusterNode } from '@syncline/testkit';
import { Redis } from 'ioredis';
import { expect, inject, test } from 'vitest';
import { digestOf, type MeshedCluster, startMeshedCluster } from './sets-cluster.js';
import { tell } from './sets-figures.js';
import { SetsWriter } from './sets-writer.js';

const ROUNDS = inject('setsClusterRounds');
const MS_PER_ROUND = 30_000;
const NODES = 3;
/** One fault lasts this long at most. */
const FAULT_MS_MAX = 1_200;
/** How long differing nodes may make no progress. */
const STILL_MS_MAX = 60_000;
const POLL_MS = 100;
const random = createSystemRandom();

const FAULTS = ['kill', 'pause', 'partition', 'one way', 'slow', 'reset'] as const;

test(
  'S1 S6 S36 whatever is killed, paused or cut off, nothing acknowledged is lost and all nodes become equal',
  async () => {
    await using cluster = await startMeshedCluster({ nodes: NODES });
    const writers = cluster.nodes.map((node) => new SetsWriter(`n${node.id}`, random));
    for (const [at, node] of cluster.nodes.entries()) writers[at]?.start(respPort(node));
    for (let round = 0; round < ROUNDS; round += 1) {
      const fault = FAULTS[round % FAULTS.length] ?? 'kill';
      const victim = randomBelow(random, NODES);
      await strike(cluster, writers, victim, fault);
      for (const { wrong } of writers) expect(wrong).toBeUndefined();
    }
    for (const node of cluster.nodes) await disconnectClients(node);
    await Promise.all(writers.map((writer) => writer.ended()));
    for (const { wrong } of writers) expect(wrong).toBeUndefined();
    await expectEqual(cluster.nodes);
    for (const node of cluster.nodes) for (const writer of writers) await expectKept(node, writer);
    const answered = writers.reduce((sum, writer) => sum + writer.answeredCount, 0);
    expect(answered).toBeGreaterThan(ROUNDS * 10);
    tell(
      `cluster: ${ROUNDS} faults, ${answered} answered, 0 lost, all ${NODES} nodes equal at rest`,
    );
  },
  60_000 + ROUNDS * MS_PER_ROUND,
);

async function strike(
  cluster: MeshedCluster,
  writers: readonly SetsWriter[],
  victim: number,
  fault: (typeof FAULTS)[number],
): Promise<void> {
  const node = cluster.nodes[victim];
  const writer = writers[victim];
  if (node === undefined || writer === undefined) throw new Error(`no node ${victim}`);
  const others = cluster.nodes.filter(({ id }) => id !== node.id);
  const links = others.flatMap(({ id }) => cluster.linkOf(node.id, id));
  const faultMs = 200 + randomBelow(random, FAULT_MS_MAX);
  switch (fault) {
    case 'kill':
      await sleep(faultMs);
      await node.kill();
      await writer.ended();
      await node.start();
      await expectKept(node, writer);
      writer.start(respPort(node));
      return;
    case 'pause':
      node.signal('SIGSTOP');
      await sleep(faultMs);
      node.signal('SIGCONT');
      return;
    case 'partition':
      for (const link of links) link.set({ blackhole: true });
      break;
    case 'one way':
      for (const link of links) link.set({ blackhole: true }, 'to-client');
      break;
    case 'slow':
      for (const link of links) link.set({ latencyMs: 20, jitterMs: 50, sliceBytes: 700 });
      break;
    case 'reset':
      for (const link of links) link.resetConnections();
      return;
  }
  await sleep(faultMs);
  for (const link of links) link.heal();
}

/** All acknowledged writes are on this node; of the unacknowledged ones, the first few may be. */
async function expectKept(node: ClusterNode, writer: SetsWriter): Promise<void> {
  const redis = new Redis(respPort(node));
  try {
    const found = new Set<string>();
    for (const set of writer.sets)
      for (const member of await redis.smembers(set))
        if (member.startsWith(`${writer.name}:`)) found.add(`${set} ${member}`);
    const steps = writer.compare(found);
    if (typeof steps === 'string') expect.fail(`node ${node.id}: ${steps}`);
  } finally {
    redis.disconnect();
  }
}

/** On a busy machine a repair takes long; as long as something changes it is not stuck. */
async function expectEqual(nodes: readonly ClusterNode[]): Promise<void> {
  let before = '';
  let changedMs = performance.now();
  for (;;) {
    const digests = await Promise.all(nodes.map((node) => digestOf(node)));
    if (new Set(digests).size === 1) return;
    const shown = digests.join('\n');
    if (shown !== before) changedMs = performance.now();
    before = shown;
    if (performance.now() - changedMs > STILL_MS_MAX)
      expect.fail(`nodes do not converge:\n${shown}`);
    await sleep(POLL_MS);
  }
}

async function disconnectClients(node: ClusterNode): Promise<void> {
  const redis = new Redis(respPort(node));
  await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  redis.disconnect();
}

function respPort(node: ClusterNode): number {
  return node.address('resp').port;
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly setsClusterRounds: number;
  }
}

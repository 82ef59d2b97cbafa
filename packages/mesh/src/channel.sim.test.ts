// Channels without connections: whole frames are lost, duplicated and reordered. Code that survives this
// survives any connection.
import {
  type ActorId,
  actorId,
  assert,
  nodeOf,
  silentMetrics,
  VersionVector,
} from '@syncline/kernel';
import {
  type MessageLink,
  type SeededRandom,
  type SimNode,
  Simulation,
} from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { Channel, type ChannelOptions } from './channel.js';
import type { ChannelLink } from './channel-link.js';
import type { ChannelFrame } from './frame-codec.js';
import { AddOnlySlice, type SliceDisk } from './testing/add-only-slice.js';

const nodeIds = [1, 2, 3] as const;
const converge = { withinMs: 60_000, everyMs: 50 };

interface Member {
  readonly actor: ActorId;
  readonly node: SimNode;
  readonly disk: SliceDisk;
  readonly slice: AddOnlySlice;
  readonly channel: Channel;
}

function optionsOf(random: SeededRandom, nodeId: number): ChannelOptions {
  const pick = <T>(...choices: readonly [T, ...T[]]): T =>
    choices[Math.floor(random.float() * choices.length)] ?? choices[0];
  return {
    peers: nodeIds.filter((id) => id !== nodeId),
    maxRetries: 5,
    retryBackoffMs: 100,
    ackTimeoutMs: 500,
    ringBatchesMax: pick(4, 20, 262_144),
    ringBytesMax: 64 * 1024 * 1024,
    pendingOperationsMax: pick(2, 10, 65_536),
    pendingBytesMax: 64 * 1024 * 1024,
  };
}

function startMember(
  simulation: Simulation,
  random: SeededRandom,
  nodeId: number,
): Promise<Member> {
  return new Promise((resolve) => {
    const actor = actorId(nodeId, 0);
    const disk: SliceDisk = { log: [], version: new VersionVector() };
    const node = simulation.addNode(`n${nodeId}`, ({ clock }) => {
      const commitMs = () => 50 * random.float() ** 3;
      const slice = new AddOnlySlice(clock, disk, { actor, commitMs, isCurrent: () => true });
      const deps = { clock, random, metrics: silentMetrics, handler: slice };
      const channel = new Channel(deps, optionsOf(random, nodeId));
      slice.channel = channel;
      channel.open(actor);
      resolve({ actor, node, disk, slice, channel });
    });
    node.start();
  });
}

/** Connects two members for good. */
function connect(simulation: Simulation, a: Member, b: Member): void {
  const toB = lossyLink(simulation, a, b, () => toA);
  const toA = lossyLink(simulation, b, a, () => toB);
  a.channel.up(toB, b.disk.version.copy());
  b.channel.up(toA, a.disk.version.copy());
}

function lossyLink(
  simulation: Simulation,
  from: Member,
  to: Member,
  back: () => ChannelLink,
): ChannelLink {
  const wire: MessageLink<ChannelFrame> = simulation.messageLink(from.node, to.node, (frame) =>
    to.channel.receive(back(), frame),
  );
  return {
    nodeId: nodeOf(to.actor),
    actor: to.actor,
    unsentBytes: 0,
    send: (frame) => wire.send(frame),
    sendOperations: (chunks) => wire.send({ kind: 'operations', encoded: Buffer.concat(chunks) }),
    whenDrained: () => Promise.resolve(),
    refuse: (why) => assert(false, `M26: no peer is refused, but one was because of ${why}`),
  };
}

function checkApplied(members: readonly Member[]): void {
  for (const { actor, slice, channel } of members) {
    for (const counter of slice.published.slice(-10)) {
      const onDisk = members.filter(
        ({ actor: other, disk }) => other !== actor && disk.version.counterOf(actor) >= counter,
      );
      assert(channel.appliedCount(counter) <= onDisk.length, 'M24: what is applied is committed');
    }
  }
}

async function runSeed(seed: number): Promise<number> {
  const simulation = new Simulation({ seed });
  return simulation.run(async () => {
    const random = simulation.random.fork('test');
    const members = await Promise.all(
      nodeIds.map((nodeId) => startMember(simulation, random.fork(`n${nodeId}`), nodeId)),
    );
    for (const [index, a] of members.entries()) {
      for (const b of members.slice(index + 1)) connect(simulation, a, b);
    }
    simulation.network.adjust({
      delayMs: 1,
      jitterMs: 30 * random.float(),
      lossProbability: 0.3 * random.float(),
      duplicateProbability: 0.3 * random.float(),
      tailProbability: 0.1 * random.float(),
      tailMsMax: 3_000,
    });
    const undoPart = random.float() < 0.5 ? 0.05 : 0;
    for (let step = 0; step < 200; step += 1) {
      const member = members[Math.floor(3 * random.float())];
      if (random.float() < undoPart) member?.slice.undo();
      else if (random.float() < 0.02) member?.slice.refuse();
      else member?.slice.add(1 + Math.floor(3 * random.float()), random.bytes(8));
      if (random.float() < 0.1) for (const { slice } of members) slice.accept();
      await simulation.clock.sleep(20 * random.float());
      checkApplied(members);
    }
    for (const { slice } of members) slice.accept();
    simulation.calm();
    const deadlineMs = simulation.nowMs + converge.withinMs;
    for (;;) {
      await simulation.clock.sleep(converge.everyMs);
      checkApplied(members);
      const [first, ...others] = members.map(({ disk }) => disk.version);
      const lags = members.flatMap(({ channel }) =>
        nodeIds.map((nodeId) => channel.receiverStatus(nodeId)?.lagOperations ?? 0),
      );
      const isEqual = others.every((other) => first?.equals(other));
      if (isEqual && lags.every((lag) => lag === 0)) break;
      const state = members.map(({ disk }) => disk.version.toString()).join(' | ');
      assert(
        simulation.nowMs < deadlineMs,
        `M9: not equal after a minute: ${state}, lags ${lags.join()}`,
      );
    }
    for (const { channel } of members) channel.close();
    return members.reduce((sum, { disk }) => sum + disk.log.length, 0);
  });
}

test('M23 M24 nodes converge although frames are lost, duplicated and reordered', async () => {
  let operations = 0;
  for (let seed = 1; seed <= 40; seed += 1) operations += await runSeed(seed);
  expect(operations).toBeGreaterThan(5_000);
});

// A peer that has the secret and breaks the protocol, and bytes from a client that has not.
import { actorId, dot, randomBelow, SynclineError, VersionVector } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { WireWriter } from '@syncline/kernel/wire';
import { describe, expect, test } from 'vitest';
import { encodeFrame, type Frame } from './frame-codec.js';
import { meshLimits } from './limits.js';
import type { ChannelHandler } from './mesh.js';
import { encodeOperation, type OperationFields } from './testing/encode-operation.js';
import { RawPeer } from './testing/raw-peer.js';
import { TestNode, type TestNodeOptions } from './testing/test-node.js';

const own = actorId(1, 0);
const other = actorId(3, 0);

function operations(...list: readonly Partial<OperationFields>[]): Frame {
  const encoded = Buffer.concat(
    list.map((fields) => encodeOperation({ dot: dot(own, 1), count: 1, ...fields })),
  );
  return { channel: 1, kind: 'operations', encoded };
}

/** Node 2, and node 1 played by the test. */
async function withPeer(
  options: Partial<TestNodeOptions>,
  body: (world: SimulatedBody, peer: RawPeer, node: TestNode) => Promise<void>,
): Promise<void> {
  await runInSimulation(1, async (world) => {
    const node = new TestNode(world.simulation, { nodeId: 2, peerIds: [1], ...options });
    await world.clock.sleep(10);
    const peer = await RawPeer.up(world, { nodeId: 1, to: 2 });
    await world.clock.sleep(50);
    await body(world, peer, node);
  });
}

/** 12 bytes of any values. */
function rawDot(node: number, high: number, low: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(12));
  view.setUint16(0, node);
  view.setUint32(4, high);
  view.setUint32(8, low);
  return new Uint8Array(view.buffer);
}

/** Fields of a message, by number. */
function rawFields(fields: Readonly<Record<number, number | Uint8Array>>): Uint8Array {
  const writer = new WireWriter();
  for (const [field, value] of Object.entries(fields)) {
    if (typeof value === 'number') writer.uint(Number(field), value);
    else writer.message(Number(field), value);
  }
  return writer.copy();
}

function rawOperation(fields: Readonly<Record<number, number | Uint8Array>>): Frame {
  return { channel: 1, kind: 'operations', encoded: rawFields({ 1: rawFields(fields) }) };
}

const manyEntries = rawFields({ 2: new Uint8Array(12 * 4_097) });

describe('M26 a peer is disconnected for', () => {
  const refusals: readonly (readonly [string, Frame])[] = [
    ['an operation of another node', operations({ dot: dot(other, 1) })],
    ['an operation of its old epoch', operations({ dot: dot(actorId(1, 9), 1) })],
    ['an operation of ours', operations({ dot: dot(actorId(2, 0), 1) })],
    ['counter 0', rawOperation({ 1: rawDot(1, 0, 0), 2: 1 })],
    ['counter 2^53', rawOperation({ 1: rawDot(1, 2 ** 21, 0), 2: 1 })],
    ['counters beyond 2^53', operations({ dot: dot(own, 2 ** 53 - 1), count: 2 })],
    ['no counter', operations({ count: 0 })],
    ['no dot', rawOperation({ 2: 1 })],
    ['half a dot', rawOperation({ 1: new Uint8Array(6), 2: 1 })],
    ['a dependency on itself', operations({ dependencies: VersionVector.of(dot(own, 1)) })],
    [
      'too many dependencies',
      rawOperation({ 1: rawDot(1, 0, 1), 2: 1, 3: new Uint8Array(12 * 4_097) }),
    ],
    ['an unknown field in an operation', rawOperation({ 1: rawDot(1, 0, 1), 2: 1, 7: 1 })],
    [
      'a message that is no list of operations',
      { channel: 1, kind: 'operations', encoded: Buffer.from('hello') },
    ],
    [
      'ranges that overlap',
      operations({ dot: dot(own, 5), count: 5 }, { dot: dot(own, 7), count: 5 }),
    ],
    [
      'an acknowledgement of another actor',
      { channel: 1, kind: 'ack', received: dot(other, 1), applied: undefined },
    ],
    ['a channel that does not exist', { channel: 2, kind: 'version-query', id: 1 }],
    [
      'a second hello',
      {
        channel: 0,
        kind: 'hello',
        versionMin: 1,
        versionMax: 1,
        clusterId: 'test',
        nodeId: 1,
        toNodeId: 2,
        nonce: new Uint8Array(16),
      },
    ],
    [
      'compression that was not agreed on',
      { channel: 0, kind: 'snappy', compressed: new Uint8Array(9) },
    ],
  ];
  test.each(refusals)('M26 %s', async (_, frame) => {
    await withPeer({}, async ({ clock }, peer, node) => {
      peer.send(frame);
      await clock.sleep(50);
      expect(peer.closeCode).toBe('protocol');
      expect(node.disk.log).toEqual([]);
      expect(node.slice.appliedCounter(own)).toBe(0);
    });
  });

  const bytes: readonly (readonly [string, Uint8Array])[] = [
    ['a frame of 0 bytes', new Uint8Array(4)],
    ['a frame above 8 MiB', Uint8Array.of(0, 0x80, 0, 1)],
    ['a heartbeat with too large a version', rawFrame(5, rawFields({ 3: manyEntries }))],
    ['a reply with too large a version', rawFrame(10, manyEntries, 1)],
    ['an unknown kind of frame', rawFrame(18, rawFields({}))],
    ['a message without a channel', rawFrame(11, rawFields({}))],
    ['a frame that is not Protobuf', Uint8Array.of(0, 0, 0, 3, 255, 255, 255)],
  ];
  test.each(bytes)('M26 %s', async (_, raw) => {
    await withPeer({}, async ({ clock }, peer) => {
      peer.sendBytes(raw);
      await clock.sleep(50);
      expect(peer.closeCode).toBe('protocol');
    });
  });

  test('M26 an operation whose range is partly applied', async () => {
    await withPeer({}, async ({ clock }, peer, node) => {
      peer.send(operations({ count: 3 }));
      await clock.sleep(50);
      expect(node.disk.version.counterOf(own)).toBe(3);
      peer.send(operations({ dot: dot(own, 3), count: 2 }));
      await clock.sleep(50);
      expect(peer.closeCode).toBe('protocol');
      expect(node.slice.appliedCounter(own)).toBe(3);
    });
  });

  test('M26 a body that the slice refuses, delivered immediately or after it was held', async () => {
    const refuse = (slice: ChannelHandler): ChannelHandler => ({
      appliedCounter: (actor) => slice.appliedCounter(actor),
      version: () => slice.version(),
      deliver(operation) {
        if (operation.bytes[operation.end - 1] !== 66) return slice.deliver(operation);
        throw new SynclineError('invalid-argument', 'malformed body');
      },
      message() {
        throw new SynclineError('invalid-argument', 'malformed message');
      },
      peerUp: (id, version) => slice.peerUp(id, version),
      peerDown: (id) => slice.peerDown(id),
      pullWanted: (id, reason) => slice.pullWanted(id, reason),
    });
    for (const isHeld of [false, true]) {
      await withPeer({ wrap: refuse }, async ({ clock }, peer, node) => {
        const bad = operations({ dot: dot(own, 2), body: Uint8Array.of(66) });
        if (isHeld) peer.send(bad);
        peer.send(operations({}));
        if (!isHeld) peer.send(bad);
        await clock.sleep(50);
        expect(peer.closeCode).toBe('protocol');
        expect(peer.received('close')[0]?.text).toBe('malformed body');
        expect(node.disk.version.toString()).toBe('1.0:1');
      });
    }
    await withPeer({ wrap: refuse }, async ({ clock }, peer) => {
      peer.send({ channel: 1, kind: 'message', field: 11, body: Uint8Array.of(1) });
      await clock.sleep(50);
      expect(peer.received('close')).toMatchObject([
        { code: 'protocol', text: 'malformed message' },
      ]);
    });
  });
});

function rawFrame(field: number, body: Uint8Array, channel = 0): Uint8Array {
  const message = rawFields({ 1: channel, [field]: body });
  const length = Buffer.alloc(4);
  length.writeUInt32BE(message.length);
  return Buffer.concat([length, message]);
}

test('M24 operations are acknowledged once they are committed, and again when they are resent', async () => {
  await withPeer({}, async ({ clock }, peer) => {
    peer.send(operations({ count: 2 }, { dot: dot(own, 3) }));
    await clock.sleep(50);
    const ack = { received: dot(own, 3), applied: dot(own, 3) };
    expect(peer.received('ack')).toMatchObject([ack]);
    peer.send(operations({ dot: dot(own, 3) }));
    await clock.sleep(50);
    expect(peer.received('ack')).toMatchObject([ack, ack]);
    // Held ones count as received. Something before the next is missing.
    const dependencies = VersionVector.of(dot(other, 1));
    peer.send(
      operations({ dot: dot(own, 4), dependencies }, { dot: dot(own, 5) }, { dot: dot(own, 7) }),
    );
    await clock.sleep(50);
    expect(peer.received('ack').at(-1)).toMatchObject({
      received: dot(own, 5),
      applied: dot(own, 3),
    });
  });
});

test('M24 missing operations are requested, once per ack timeout', async () => {
  await withPeer({}, async ({ clock }, peer, node) => {
    peer.send(operations({ dot: dot(own, 2) }));
    peer.send(operations({ dot: dot(own, 3) }));
    await clock.sleep(100);
    const nack = { reason: 'gap', expected: dot(own, 1) };
    expect(peer.received('nack')).toMatchObject([nack]);
    expect(peer.received('ack')).toEqual([]);
    await clock.sleep(600);
    expect(peer.received('nack')).toMatchObject([nack, nack]);
    peer.send(operations({}));
    await clock.sleep(50);
    expect(peer.received('ack').at(-1)).toMatchObject({
      received: dot(own, 3),
      applied: dot(own, 3),
    });
    expect(node.slice.pulls).toEqual({ overflow: 0, gap: 0, evicted: 0 });
  });
});

test('M25 when too many operations wait, new ones are dropped unacknowledged, and one pull starts immediately', async () => {
  await withPeer({ bufferSize: 2 }, async ({ clock }, peer, node) => {
    const dependencies = VersionVector.of(dot(other, 1));
    peer.send(operations({ dependencies }));
    for (let counter = 2; counter <= 6; counter += 1) {
      peer.send(operations({ dot: dot(own, counter) }));
    }
    await clock.sleep(50);
    expect(peer.received('nack')).toMatchObject([{ reason: 'overflow', expected: dot(own, 3) }]);
    expect(peer.received('ack').at(-1)).toMatchObject({
      received: dot(own, 2),
      applied: undefined,
    });
    expect(node.slice.pulls.overflow).toBe(1);
    expect(node.count('syncline_mesh_overflow_total')).toBe(4);
    // The cause arrives by another route. The dropped ones are resent, in order.
    node.disk.version.merge(VersionVector.of(dot(other, 1)));
    node.slice.undo();
    node.slice.accept();
    await clock.sleep(50);
    expect(peer.received('ack').at(-1)).toMatchObject({ applied: dot(own, 2) });
    peer.send(operations({ dot: dot(own, 3) }, { dot: dot(own, 4) }));
    await clock.sleep(50);
    expect(peer.received('ack').at(-1)).toMatchObject({ applied: dot(own, 4) });
  });
});

test('M25 while the slice accepts nothing, operations are held up to the limit, and none is lost', async () => {
  await withPeer({ bufferSize: 3 }, async ({ clock }, peer, node) => {
    node.slice.refuse();
    for (let counter = 1; counter <= 5; counter += 1) {
      peer.send(operations({ dot: dot(own, counter) }));
    }
    await clock.sleep(50);
    expect(node.mesh.peers()).toMatchObject([{ pendingOperations: 3 }]);
    expect(peer.received('nack')).toMatchObject([{ reason: 'overflow', expected: dot(own, 4) }]);
    node.slice.accept();
    await clock.sleep(50);
    expect(peer.received('ack').at(-1)).toMatchObject({
      received: dot(own, 3),
      applied: dot(own, 3),
    });
    expect(node.mesh.peers()).toMatchObject([{ pendingOperations: 0 }]);
  });
});

test('M24 operations undone after their receipt are requested again', async () => {
  await withPeer({}, async ({ clock }, peer, node) => {
    node.slice.refuse();
    peer.send(operations({}));
    await clock.sleep(50);
    expect(peer.received('ack')).toMatchObject([{ received: dot(own, 1), applied: undefined }]);
    node.slice.accept(); // it is delivered from the buffer
    node.slice.undo();
    await clock.sleep(200);
    expect(peer.received('nack')).toMatchObject([{ reason: 'gap', expected: dot(own, 1) }]);
    expect(peer.received('ack')).toHaveLength(1);
    peer.send(operations({}));
    await clock.sleep(50);
    expect(peer.received('ack').at(-1)).toMatchObject({ applied: dot(own, 1) });
  });
});

test('an operation that waits long for the cause of another node makes the slice pull', async () => {
  await withPeer({}, async ({ clock }, peer, node) => {
    peer.send(operations({ dependencies: VersionVector.of(dot(other, 1)) }));
    await clock.sleep(900);
    expect(node.slice.pulls.gap).toBe(0);
    await clock.sleep(400);
    expect(node.slice.pulls.gap).toBe(1);
    peer.send({ channel: 0, kind: 'heartbeat', sequence: 2, isReply: true, channels: [] });
    await clock.sleep(4_500);
    expect(node.slice.pulls.gap).toBe(1);
    peer.send({ channel: 0, kind: 'heartbeat', sequence: 3, isReply: true, channels: [] });
    await clock.sleep(1_000);
    expect(node.slice.pulls.gap).toBe(2);
  });
});

test('M13 a Nack evicted makes us pull from the peer; a peer that lags too far is asked to pull', async () => {
  await withPeer({ ringBytesMax: 2_000 }, async ({ clock }, peer, node) => {
    peer.send({ channel: 1, kind: 'nack', reason: 'evicted', expected: undefined });
    await clock.sleep(50);
    expect(node.slice.pulls.evicted).toBe(1);
    // Our operations leave the ring before the peer has acknowledged any.
    for (let each = 0; each < 20; each += 1) {
      node.slice.add(1, new Uint8Array(500));
      await clock.sleep(2);
    }
    const next = { actor: actorId(2, 0), counter: 1 };
    peer.send({ channel: 1, kind: 'nack', reason: 'gap', expected: next });
    await clock.sleep(50);
    expect(peer.received('nack')).toMatchObject([{ reason: 'evicted' }]);
    expect(node.states).toEqual({ 1: 'behind' });
    const [lag] = node.mesh.peers();
    expect(lag).toMatchObject({ lagOperations: 20, evictedOperations: 17 });
    expect(lag?.lagMs).toBeGreaterThan(40); // since the first of the 20, not since the oldest in the ring
    const sent = peer.received('operations').length;
    node.slice.add(1, new Uint8Array(500));
    await clock.sleep(50);
    expect(peer.received('operations')).toHaveLength(sent);
    const applied = { actor: actorId(2, 0), counter: 20 };
    peer.send({ channel: 1, kind: 'ack', received: applied, applied });
    await clock.sleep(50);
    expect(node.states).toEqual({ 1: 'connected' });
    expect(peer.received('operations').length).toBeGreaterThan(sent);
  });
});

test('M5 random bytes from an unauthenticated client change nothing, and it is disconnected', async () => {
  await runInSimulation(1, async (world) => {
    const node = new TestNode(world.simulation, { nodeId: 2, peerIds: [1] });
    await world.clock.sleep(10);
    const random = world.random.fork('fuzz');
    for (let round = 0; round < 200; round += 1) {
      const peer = await RawPeer.dial(world, { nodeId: 1, to: 2 });
      const length = 1 + randomBelow(random, 200);
      const frame = Buffer.concat([Uint8Array.of(0, 0, 0, length), random.bytes(length)]);
      peer.sendBytes(random.float() < 0.2 ? random.bytes(length) : frame);
      if (random.float() < 0.5) peer.connection.end();
      await world.clock.sleep(20);
    }
    await world.clock.sleep(8_000);
    expect(node.node.connectionsCount).toBe(0);
    expect(node.disk.version.size).toBe(0);
    expect(node.states[1]).not.toBe('connected');
  });
});

test('M26 damaged frames of an authenticated peer never do more than end the connection', async () => {
  await runInSimulation(2, async (world) => {
    const node = new TestNode(world.simulation, { nodeId: 2, peerIds: [1] });
    await world.clock.sleep(10);
    const random = world.random.fork('fuzz');
    const frames: readonly Frame[] = [
      operations({}, { dot: dot(own, 2) }),
      operations({ dot: dot(own, 3), dependencies: VersionVector.of(dot(other, 4)) }),
      { channel: 1, kind: 'ack', received: dot(actorId(2, 0), 1), applied: undefined },
      { channel: 1, kind: 'nack', reason: 'gap', expected: dot(actorId(2, 0), 1) },
      { channel: 1, kind: 'version-reply', id: 1, version: VersionVector.of(dot(other, 3)) },
      { channel: 0, kind: 'heartbeat', sequence: 5, isReply: false, channels: [] },
    ];
    for (let round = 0; round < 150; round += 1) {
      const bootId = new Uint8Array(16).fill(1);
      const peer = await RawPeer.up(world, { nodeId: 1, to: 2, bootId });
      for (let each = 0; each < 4; each += 1) {
        const bytes = encodeFrame(frames[randomBelow(random, frames.length)] ?? operations({}));
        const at = 4 + randomBelow(random, bytes.length - 4);
        bytes[at] = (bytes[at] ?? 0) ^ (1 << randomBelow(random, 8));
        peer.sendBytes(bytes);
      }
      await world.clock.sleep(30);
      peer.connection.destroy();
      for (const { actor } of node.disk.version.entries()) expect(actor).toBe(own);
    }
    expect(node.slice.appliedCounter(own)).toBeLessThan(10);
  });
});

test('M6 compressed frames are accepted if both sides agreed, and decompression bombs are not', async () => {
  // Stands in for Snappy: the declared size, and then the bytes as they are.
  const snappy = {
    compressSync: (bytes: Uint8Array) => {
      const head = rawFields({ 1: bytes.length }).subarray(1);
      return Buffer.concat([head, bytes.subarray(0, 40), Uint8Array.of(0)]);
    },
    uncompressSync: (bytes: Uint8Array): Uint8Array => {
      if (bytes.at(-1) === 0xff) throw new Error('corrupt input');
      return bytes.subarray(1);
    },
  };
  const compressed = (bytes: Uint8Array, declared = bytes.length): Frame => {
    const head = rawFields({ 1: declared }).subarray(1);
    return { channel: 0, kind: 'snappy', compressed: Buffer.concat([head, bytes]) };
  };
  const frame = encodeFrame(operations({})).subarray(4);
  const cases: readonly (readonly [string, Frame, string | undefined])[] = [
    ['good', compressed(frame), undefined],
    ['bomb', compressed(frame, meshLimits.frameBytesMax.value + 1), 'at most 8388608'],
    ['a different size', compressed(frame, 100), 'a different size'],
    ['nested', compressed(encodeFrame(compressed(frame)).subarray(4)), 'contains another one'],
    ['corrupt', compressed(Buffer.concat([frame, Uint8Array.of(0xff)])), 'cannot be decompressed'],
  ];
  for (const [, sent, problem] of cases) {
    await runInSimulation(1, async (world) => {
      const options = { nodeId: 2, peerIds: [1], compression: true, snappy };
      const node = new TestNode(world.simulation, options);
      await world.clock.sleep(10);
      const peer = await RawPeer.up(world, { nodeId: 1, to: 2, snappy: true });
      peer.send(sent);
      await world.clock.sleep(50);
      if (problem === undefined) {
        expect(node.disk.version.toString()).toBe('1.0:1');
        // Large frames are sent compressed, small ones are not.
        node.slice.add(1, new Uint8Array(5_000));
        node.slice.add(1, new Uint8Array(50));
        await world.clock.sleep(50);
        expect(peer.received('snappy').length).toBeGreaterThan(0);
      } else {
        expect(peer.received('close')[0]?.text).toContain(problem);
        expect(node.disk.log).toEqual([]);
      }
    });
  }
});

test('M27 bytes sent before a peer ended the connection are received, even while the rest waits', async () => {
  for (let count = 14; count < 22; count += 1) {
    await withPeer({}, async ({ clock }, peer, node) => {
      for (let counter = 1; counter <= count; counter += 1) {
        peer.send(operations({ dot: dot(own, counter), body: new Uint8Array(4_096) }));
      }
      peer.connection.end();
      await clock.sleep(1_000);
      expect(node.slice.appliedCounter(own)).toBe(count);
    });
  }
});

// Every frame in every state of the handshake, on both sides, and whole conversations as golden data, which
// `vitest -u` rewrites.
import { describe, expect, test } from 'vitest';
import type { Frame, FrameKind } from './frame-codec.js';
import { encodeFrame } from './frame-codec.js';
import { Handshake, type HandshakeState, type HandshakeStep } from './handshake.js';
import { converse, identityOf, nonceOf, scripts } from './testing/handshake-scripts.js';

type Role = 'dialer' | 'acceptor';
type Expected = HandshakeStep['kind'];

const failed = {
  hello: 'failed',
  auth: 'failed',
  close: 'failed',
  heartbeat: 'failed',
  operations: 'failed',
  ack: 'failed',
  nack: 'failed',
  'version-query': 'failed',
  'version-reply': 'failed',
  message: 'failed',
  snappy: 'failed',
} as const satisfies Record<FrameKind, Expected>;

/** What follows from each frame in each state. The same on both sides. */
const table: Record<HandshakeState, Record<FrameKind, Expected>> = {
  'awaiting-hello': { ...failed, hello: 'continue', close: 'closed' },
  'awaiting-auth': { ...failed, auth: 'done', close: 'closed' },
  done: { ...failed, close: 'closed' },
  failed,
};

function handshakeOf(role: Role): Handshake {
  const dialedNodeId = role === 'dialer' ? 2 : undefined;
  const nodeId = role === 'dialer' ? 1 : 2;
  return new Handshake(identityOf({ nodeId }), {
    dialedNodeId,
    nonce: nonceOf(nodeId),
    peerUris: [],
  });
}

/** Both sides of a good handshake: what each of them receives, in order. */
function goodFrames(): Record<Role, readonly Frame[]> {
  const { frames } = converse({ dialer: {}, acceptor: {} });
  const from = (role: Role) =>
    frames.filter((each) => each.from === role).map(({ frame }) => frame);
  return { dialer: from('acceptor'), acceptor: from('dialer') };
}

function frameOf(kind: FrameKind, role: Role): Frame {
  const good = goodFrames()[role].find((frame) => frame.kind === kind);
  if (good !== undefined) return good;
  const bytes = new Uint8Array(1);
  const other: Partial<Record<FrameKind, Frame>> = {
    close: { channel: 0, kind: 'close', code: 'shutdown', text: '' },
    heartbeat: { channel: 0, kind: 'heartbeat', sequence: 1, isReply: false, channels: [] },
    operations: { channel: 1, kind: 'operations', encoded: bytes },
    ack: { channel: 1, kind: 'ack', received: undefined, applied: undefined },
    nack: { channel: 1, kind: 'nack', reason: 'gap', expected: undefined },
    'version-query': { channel: 1, kind: 'version-query', id: 1 },
    message: { channel: 1, kind: 'message', field: 11, body: bytes },
    snappy: { channel: 0, kind: 'snappy', compressed: bytes },
  };
  return other[kind] ?? { channel: 1, kind: 'operations', encoded: bytes };
}

describe('M4 every frame in every state', () => {
  for (const role of ['dialer', 'acceptor'] as const) {
    for (const state of Object.keys(table) as HandshakeState[]) {
      for (const kind of Object.keys(failed) as FrameKind[]) {
        const expected = table[state][kind];
        test(`M4 ${role}, ${state}: ${kind} gives ${expected}`, () => {
          const handshake = handshakeOf(role);
          const before = { 'awaiting-hello': 0, 'awaiting-auth': 1, done: 2, failed: 0 }[state];
          for (const frame of goodFrames()[role].slice(0, before)) handshake.receive(frame);
          if (state === 'failed') handshake.receive(frameOf('ack', role));
          expect(handshake.state).toBe(state);
          const step = handshake.receive(frameOf(kind, role));
          expect(step.kind).toBe(expected);
          if (step.kind === 'failed') expect(handshake.state).toBe('failed');
        });
      }
    }
  }
});

test('M3 the conversations of the golden file', async () => {
  const spoken = scripts.map(({ name, script }) => `## ${name}\n\n${converse(script).text}`);
  await expect(spoken.join('\n')).toMatchFileSnapshot('../testdata/handshake.txt');
});

test('M3 no frame of a handshake is longer than an unauthenticated peer may send', () => {
  const { frames } = converse({
    dialer: { clusterId: 'c'.repeat(255) },
    acceptor: { clusterId: 'c'.repeat(255) },
  });
  expect(frames).toHaveLength(4);
  for (const { frame } of frames) expect(encodeFrame(frame).length).toBeLessThan(1_024);
});

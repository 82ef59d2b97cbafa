// Conversations of two sides of a handshake, good and bad ones, as text.
import type { Frame } from '../frame-codec.js';
import { Handshake, type HandshakeIdentity, type HandshakeStep } from '../handshake.js';

type Role = 'dialer' | 'acceptor';

export interface Script {
  /** What differs from node 1 and node 2 of cluster `dev`. */
  readonly dialer: SideOptions;
  readonly acceptor: SideOptions;
  /** The node that is dialed. Default 2. */
  readonly dialedNodeId?: number;
  /** Changes frames in flight. */
  readonly tamper?: (frame: Frame, from: Role) => Frame;
}

interface SideOptions extends Partial<HandshakeIdentity> {
  readonly peerUris?: readonly string[];
}

export interface Conversation {
  readonly text: string;
  readonly frames: readonly { readonly from: Role; readonly frame: Frame }[];
}

export function nonceOf(nodeId: number): Uint8Array {
  return new Uint8Array(16).fill(nodeId);
}

export function identityOf(options: SideOptions & { readonly nodeId: number }): HandshakeIdentity {
  return {
    clusterId: 'dev',
    epoch: 7,
    bootId: new Uint8Array(16).fill(0xb0 + options.nodeId),
    secret: 'secret',
    usesCertificates: false,
    snappy: false,
    isPeer: (nodeId) => nodeId === 1 || nodeId === 2,
    ...options,
  };
}

/** Exchanges frames until one side has ended, or both are done. */
export function converse(script: Script): Conversation {
  const { dialedNodeId = 2, tamper = (frame) => frame } = script;
  const lines: string[] = [];
  const frames: { from: Role; frame: Frame }[] = [];
  const sides = {
    dialer: sideOf(1, script.dialer, dialedNodeId),
    acceptor: sideOf(2, script.acceptor, undefined),
  };
  const onTheWay: { from: Role; frame: Frame }[] = [];
  const send = (from: Role, sent: readonly Frame[]) => {
    for (const frame of sent) onTheWay.push({ from, frame: tamper(frame, from) });
  };
  send('dialer', sides.dialer.start());
  for (let next = onTheWay.shift(); next !== undefined; next = onTheWay.shift()) {
    const { from, frame } = next;
    const to = from === 'dialer' ? 'acceptor' : 'dialer';
    frames.push(next);
    lines.push(`${from}: ${frameText(frame)}`);
    const step = sides[to].receive(frame);
    if (step.kind === 'continue' || step.kind === 'done') send(to, step.send);
    const end = endText(step);
    if (end !== undefined) lines.push(`  ${to} ${end}`);
    if (step.kind === 'failed')
      send(to, [{ channel: 0, kind: 'close', code: step.close, text: '' }]);
  }
  return { text: `${lines.join('\n')}\n`, frames };
}

function sideOf(nodeId: number, options: SideOptions, dialedNodeId: number | undefined): Handshake {
  const identity = identityOf({ nodeId, ...options });
  const { peerUris = [] } = options;
  return new Handshake(identity, { dialedNodeId, nonce: nonceOf(identity.nodeId), peerUris });
}

function frameText(frame: Frame): string {
  const { channel: _, kind, ...fields } = frame;
  const shown = Object.entries(fields).map(([name, value]) => `${name}=${valueText(value)}`);
  return [kind, ...shown].join(' ');
}

function valueText(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : JSON.stringify(value);
}

function endText(step: HandshakeStep): string | undefined {
  switch (step.kind) {
    case 'continue':
      return undefined;
    case 'done': {
      const { nodeId, actor, snappy } = step.peer;
      return `is done with node ${nodeId}, actor ${actor.toString(16)}, snappy ${snappy}`;
    }
    case 'failed':
      return `fails (${step.close}): ${step.why}`;
    default:
      return `was closed (${step.code})`;
  }
}

const uri = (nodeId: number) => [`syncline://dev/node/${nodeId}`];
const certified = { usesCertificates: true, secret: '' };

export const scripts: readonly { readonly name: string; readonly script: Script }[] = [
  { name: 'a good handshake', script: { dialer: {}, acceptor: {} } },
  {
    name: 'an empty secret on both sides',
    script: { dialer: { secret: '' }, acceptor: { secret: '' } },
  },
  {
    name: 'both sides allow compression',
    script: { dialer: { snappy: true }, acceptor: { snappy: true } },
  },
  { name: 'one side allows compression', script: { dialer: { snappy: true }, acceptor: {} } },
  {
    name: 'certificates instead of a secret',
    script: {
      dialer: { ...certified, peerUris: uri(2) },
      acceptor: { ...certified, peerUris: uri(1) },
    },
  },
  {
    name: 'the certificate of another node',
    script: {
      dialer: { ...certified, peerUris: uri(2) },
      acceptor: { ...certified, peerUris: uri(3) },
    },
  },
  {
    name: 'the certificate of another cluster',
    script: {
      dialer: { ...certified, peerUris: uri(2) },
      acceptor: { ...certified, peerUris: ['syncline://prod/node/1'] },
    },
  },
  {
    name: 'the acceptor has another certificate',
    script: {
      dialer: { ...certified, peerUris: uri(5) },
      acceptor: { ...certified, peerUris: uri(1) },
    },
  },
  {
    name: 'a certificate does not replace a configured secret',
    script: {
      dialer: { usesCertificates: true, secret: 'other', peerUris: uri(2) },
      acceptor: { usesCertificates: true, peerUris: uri(1) },
    },
  },
  {
    name: 'the dialer has a different secret',
    script: { dialer: { secret: 'other' }, acceptor: {} },
  },
  {
    name: 'the acceptor proves nothing',
    script: {
      dialer: {},
      acceptor: {},
      tamper: (frame, from) =>
        frame.kind === 'auth' && from === 'acceptor'
          ? { ...frame, proof: new Uint8Array(0) }
          : frame,
    },
  },
  {
    name: 'the proof of the dialer sent back to it',
    script: { dialer: {}, acceptor: {}, tamper: reflectProof() },
  },
  { name: 'another cluster', script: { dialer: { clusterId: 'prod' }, acceptor: {} } },
  {
    name: 'an unknown node',
    script: { dialer: { nodeId: 9 }, acceptor: {} },
  },
  { name: 'the own node id', script: { dialer: { nodeId: 2 }, acceptor: {} } },
  {
    name: 'a wrong address: node 3 is dialed where node 2 listens',
    script: { dialer: {}, acceptor: {}, dialedNodeId: 3 },
  },
  {
    name: 'another node answers',
    script: {
      dialer: {},
      acceptor: {},
      tamper: (frame, from) =>
        frame.kind === 'hello' && from === 'acceptor' ? { ...frame, nodeId: 5 } : frame,
    },
  },
  {
    name: 'a newer protocol',
    script: {
      dialer: {},
      acceptor: {},
      tamper: (frame) =>
        frame.kind === 'hello' ? { ...frame, versionMin: 2, versionMax: 3 } : frame,
    },
  },
  {
    name: 'a short nonce',
    script: {
      dialer: {},
      acceptor: {},
      tamper: (frame) => (frame.kind === 'hello' ? { ...frame, nonce: new Uint8Array(8) } : frame),
    },
  },
  {
    name: 'another nonce on the way',
    script: {
      dialer: {},
      acceptor: {},
      tamper: (frame, from) =>
        frame.kind === 'hello' && from === 'dialer' ? { ...frame, nonce: nonceOf(9) } : frame,
    },
  },
  {
    name: 'an epoch above 16 bits',
    script: { dialer: { epoch: 65_536 }, acceptor: {} },
  },
  {
    name: 'an empty boot id',
    script: { dialer: { bootId: new Uint8Array(0) }, acceptor: {} },
  },
];

function reflectProof(): NonNullable<Script['tamper']> {
  let proof: Uint8Array = new Uint8Array(0);
  return (frame, from) => {
    if (frame.kind !== 'auth') return frame;
    if (from === 'acceptor') return { ...frame, proof };
    proof = frame.proof;
    return frame;
  };
}

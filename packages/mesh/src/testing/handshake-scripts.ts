// Conversations of two sides of a handshake, good and bad ones, as text.
import type { Frame } from '../frame-codec.js';
import { Handshake, type HandshakeIdentity, type HandshakeStep } from '../handshake.js';

type Role = 'dialler' | 'acceptor';

export interface Script {
  /** What differs from node 1 and node 2 of cluster `dev`. */
  readonly dialler: SideOptions;
  readonly acceptor: SideOptions;
  /** The node that is dialled. Default 2. */
  readonly dialledNodeId?: number;
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
  const { dialledNodeId = 2, tamper = (frame) => frame } = script;
  const lines: string[] = [];
  const frames: { from: Role; frame: Frame }[] = [];
  const sides = {
    dialler: sideOf(1, script.dialler, dialledNodeId),
    acceptor: sideOf(2, script.acceptor, undefined),
  };
  const onTheWay: { from: Role; frame: Frame }[] = [];
  const send = (from: Role, sent: readonly Frame[]) => {
    for (const frame of sent) onTheWay.push({ from, frame: tamper(frame, from) });
  };
  send('dialler', sides.dialler.start());
  for (let next = onTheWay.shift(); next !== undefined; next = onTheWay.shift()) {
    const { from, frame } = next;
    const to = from === 'dialler' ? 'acceptor' : 'dialler';
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

function sideOf(
  nodeId: number,
  options: SideOptions,
  dialledNodeId: number | undefined,
): Handshake {
  const identity = identityOf({ nodeId, ...options });
  const { peerUris = [] } = options;
  return new Handshake(identity, { dialledNodeId, nonce: nonceOf(identity.nodeId), peerUris });
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
  { name: 'a good handshake', script: { dialler: {}, acceptor: {} } },
  {
    name: 'an empty secret on both sides',
    script: { dialler: { secret: '' }, acceptor: { secret: '' } },
  },
  {
    name: 'both sides allow compression',
    script: { dialler: { snappy: true }, acceptor: { snappy: true } },
  },
  { name: 'one side allows compression', script: { dialler: { snappy: true }, acceptor: {} } },
  {
    name: 'certificates instead of a secret',
    script: {
      dialler: { ...certified, peerUris: uri(2) },
      acceptor: { ...certified, peerUris: uri(1) },
    },
  },
  {
    name: 'the certificate of another node',
    script: {
      dialler: { ...certified, peerUris: uri(2) },
      acceptor: { ...certified, peerUris: uri(3) },
    },
  },
  {
    name: 'the certificate of another cluster',
    script: {
      dialler: { ...certified, peerUris: uri(2) },
      acceptor: { ...certified, peerUris: ['syncline://prod/node/1'] },
    },
  },
  {
    name: 'the acceptor has another certificate',
    script: {
      dialler: { ...certified, peerUris: uri(5) },
      acceptor: { ...certified, peerUris: uri(1) },
    },
  },
  {
    name: 'a certificate does not replace a configured secret',
    script: {
      dialler: { usesCertificates: true, secret: 'other', peerUris: uri(2) },
      acceptor: { usesCertificates: true, peerUris: uri(1) },
    },
  },
  {
    name: 'the dialler has a different secret',
    script: { dialler: { secret: 'other' }, acceptor: {} },
  },
  {
    name: 'the acceptor proves nothing',
    script: {
      dialler: {},
      acceptor: {},
      tamper: (frame, from) =>
        frame.kind === 'auth' && from === 'acceptor'
          ? { ...frame, proof: new Uint8Array(0) }
          : frame,
    },
  },
  {
    name: 'the proof of the dialler sent back to it',
    script: { dialler: {}, acceptor: {}, tamper: reflectProof() },
  },
  { name: 'another cluster', script: { dialler: { clusterId: 'prod' }, acceptor: {} } },
  {
    name: 'an unknown node',
    script: { dialler: { nodeId: 9 }, acceptor: {} },
  },
  { name: 'the own node id', script: { dialler: { nodeId: 2 }, acceptor: {} } },
  {
    name: 'a wrong address: node 3 is dialled where node 2 listens',
    script: { dialler: {}, acceptor: {}, dialledNodeId: 3 },
  },
  {
    name: 'another node answers',
    script: {
      dialler: {},
      acceptor: {},
      tamper: (frame, from) =>
        frame.kind === 'hello' && from === 'acceptor' ? { ...frame, nodeId: 5 } : frame,
    },
  },
  {
    name: 'a newer protocol',
    script: {
      dialler: {},
      acceptor: {},
      tamper: (frame) =>
        frame.kind === 'hello' ? { ...frame, versionMin: 2, versionMax: 3 } : frame,
    },
  },
  {
    name: 'a short nonce',
    script: {
      dialler: {},
      acceptor: {},
      tamper: (frame) => (frame.kind === 'hello' ? { ...frame, nonce: new Uint8Array(8) } : frame),
    },
  },
  {
    name: 'another nonce on the way',
    script: {
      dialler: {},
      acceptor: {},
      tamper: (frame, from) =>
        frame.kind === 'hello' && from === 'dialler' ? { ...frame, nonce: nonceOf(9) } : frame,
    },
  },
  {
    name: 'an epoch above 16 bits',
    script: { dialler: { epoch: 65_536 }, acceptor: {} },
  },
  {
    name: 'an empty boot id',
    script: { dialler: { bootId: new Uint8Array(0) }, acceptor: {} },
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

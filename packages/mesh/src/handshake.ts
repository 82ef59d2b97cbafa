// The handshake of two nodes, as a state machine without I/O. Frames go in, frames to send and a verdict come out.
//
//   dialer    (sends Hello) -> awaiting-hello -> (sends Auth) -> awaiting-auth -> done
//   acceptor   awaiting-hello -> (sends Hello) -> awaiting-auth -> (sends Auth) -> done
//
// A proof covers both nonces, both names and the role, so it is useless on another connection or in the other
// direction. An unexpected peer receives only a refusal.
//
// M3  Without a valid proof, or the certificate that names it, no peer gets beyond the handshake.
// M4  In every state, any frame other than the expected one ends the handshake.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { type ActorId, actorId, EPOCH_MAX } from '@syncline/kernel';
import type { AuthFrame, CloseCode, Frame, HelloFrame } from './frame-codec.js';

/** The versions of the protocol that we speak. */
const PROTOCOL_VERSION = 1;

export const NONCE_BYTES = 16;
export const BOOT_ID_BYTES = 16;

export type HandshakeState = 'awaiting-hello' | 'awaiting-auth' | 'done' | 'failed';

export interface HandshakeIdentity {
  readonly nodeId: number;
  readonly clusterId: string;
  readonly epoch: number;
  readonly bootId: Uint8Array;
  readonly secret: string;
  readonly usesCertificates: boolean;
  readonly snappy: boolean;
  /** The configured peers. */
  isPeer(nodeId: number): boolean;
}

export interface HandshakeOptions {
  /** The node that was dialed; undefined on a connection that was opened to us. */
  readonly dialedNodeId: number | undefined;
  /** 16 random bytes. */
  readonly nonce: Uint8Array;
  /** URI names of the peer's verified certificate. */
  readonly peerUris: readonly string[];
}

/** Who the peer is, once it has proved it. */
export interface AuthenticatedPeer {
  readonly nodeId: number;
  readonly actor: ActorId;
  readonly bootId: Uint8Array;
  /** Both sides allow compressed frames. */
  readonly snappy: boolean;
}

export type HandshakeStep =
  | { readonly kind: 'continue'; readonly send: readonly Frame[] }
  | { readonly kind: 'done'; readonly send: readonly Frame[]; readonly peer: AuthenticatedPeer }
  | { readonly kind: 'failed'; readonly close: CloseCode; readonly why: string }
  /** The peer has ended the connection. */
  | { readonly kind: 'closed'; readonly code: CloseCode; readonly text: string };

export class Handshake {
  readonly #identity: HandshakeIdentity;
  readonly #options: HandshakeOptions;
  #state: HandshakeState = 'awaiting-hello';
  #hello: HelloFrame | undefined;

  constructor(identity: HandshakeIdentity, options: HandshakeOptions) {
    this.#identity = identity;
    this.#options = options;
  }

  get state(): HandshakeState {
    return this.#state;
  }

  /** What is sent first: the Hello of the dialer. */
  start(): readonly Frame[] {
    const { dialedNodeId } = this.#options;
    return dialedNodeId === undefined ? [] : [this.#ownHello(dialedNodeId)];
  }

  receive(frame: Frame): HandshakeStep {
    if (frame.kind === 'close' && this.#state !== 'failed') {
      this.#state = 'failed';
      return { kind: 'closed', code: frame.code, text: frame.text };
    }
    if (this.#state === 'awaiting-hello' && frame.kind === 'hello') return this.#onHello(frame);
    if (this.#state === 'awaiting-auth' && frame.kind === 'auth') return this.#onAuth(frame);
    return this.#fail('protocol', `received ${frame.kind} while ${this.#state}`);
  }

  #onHello(hello: HelloFrame): HandshakeStep {
    const { nodeId, clusterId, isPeer } = this.#identity;
    const { dialedNodeId } = this.#options;
    if (hello.clusterId !== clusterId)
      return this.#fail('cluster', 'it belongs to a different cluster');
    if (hello.versionMin > PROTOCOL_VERSION || hello.versionMax < PROTOCOL_VERSION) {
      const range = `${hello.versionMin} to ${hello.versionMax}`;
      return this.#fail('version', `it supports protocol versions ${range}`);
    }
    if (hello.toNodeId !== nodeId) {
      return this.#fail('refused', `it expected node ${hello.toNodeId}; check the peer addresses`);
    }
    if (dialedNodeId !== undefined && hello.nodeId !== dialedNodeId) {
      return this.#fail(
        'refused',
        `node ${hello.nodeId} responded instead; check the peer addresses`,
      );
    }
    if (hello.nodeId === nodeId) {
      return this.#fail(
        'refused',
        `it has the same node id ${nodeId} as this node; node ids must be unique`,
      );
    }
    if (!isPeer(hello.nodeId)) {
      return this.#fail('refused', `node ${hello.nodeId} is not among the configured peers`);
    }
    if (hello.nonce.length !== NONCE_BYTES) return this.#fail('protocol', 'its nonce is malformed');
    if (!this.#isCertified(hello.nodeId)) {
      return this.#fail('refused', `its certificate does not name node ${hello.nodeId}`);
    }
    this.#hello = hello;
    this.#state = 'awaiting-auth';
    const isDialer = dialedNodeId !== undefined;
    const answer = isDialer ? this.#ownAuth(hello) : this.#ownHello(hello.nodeId);
    return { kind: 'continue', send: [answer] };
  }

  #onAuth(auth: AuthFrame): HandshakeStep {
    const hello = this.#hello;
    if (hello === undefined) return this.#fail('protocol', 'it sent no hello');
    const isDialer = this.#options.dialedNodeId !== undefined;
    const expected = this.#proof(isDialer ? 'A' : 'D', hello);
    if (auth.proof.length !== expected.length || !timingSafeEqual(auth.proof, expected)) {
      return this.#fail('refused', `node ${hello.nodeId} has a different secret`);
    }
    if (auth.version !== PROTOCOL_VERSION) {
      return this.#fail('version', `it chose protocol version ${auth.version}`);
    }
    if (auth.epoch > EPOCH_MAX || auth.bootId.length !== BOOT_ID_BYTES) {
      return this.#fail('protocol', 'its epoch or boot id is malformed');
    }
    this.#state = 'done';
    const peer = {
      nodeId: hello.nodeId,
      actor: actorId(hello.nodeId, auth.epoch),
      bootId: auth.bootId.slice(),
      snappy: auth.snappy && this.#identity.snappy,
    };
    return { kind: 'done', send: isDialer ? [] : [this.#ownAuth(hello)], peer };
  }

  #fail(close: CloseCode, why: string): HandshakeStep {
    this.#state = 'failed';
    return { kind: 'failed', close, why };
  }

  #isCertified(nodeId: number): boolean {
    const { usesCertificates, clusterId } = this.#identity;
    const name = `syncline://${clusterId}/node/${nodeId}`;
    return !usesCertificates || this.#options.peerUris.includes(name);
  }

  #ownHello(toNodeId: number): Frame {
    const { nodeId, clusterId } = this.#identity;
    return {
      channel: 0,
      kind: 'hello',
      versionMin: PROTOCOL_VERSION,
      versionMax: PROTOCOL_VERSION,
      clusterId,
      nodeId,
      toNodeId,
      nonce: this.#options.nonce,
    };
  }

  #ownAuth(hello: HelloFrame): Frame {
    const { epoch, bootId, snappy } = this.#identity;
    const isDialer = this.#options.dialedNodeId !== undefined;
    return {
      channel: 0,
      kind: 'auth',
      proof: this.#proof(isDialer ? 'D' : 'A', hello),
      version: PROTOCOL_VERSION,
      epoch,
      bootId,
      snappy,
    };
  }

  /** Of the side with this role. Empty where the certificate is proof enough. */
  #proof(role: 'D' | 'A', hello: HelloFrame): Uint8Array {
    const { secret, usesCertificates, clusterId, nodeId } = this.#identity;
    if (usesCertificates && secret === '') return new Uint8Array(0);
    const isDialer = this.#options.dialedNodeId !== undefined;
    const own = { nodeId, nonce: this.#options.nonce };
    const [dialer, acceptor] = isDialer ? [own, hello] : [hello, own];
    const cluster = Buffer.from(clusterId);
    return createHmac('sha256', secret)
      .update(`syncline/mesh/1${role}`)
      .update(u16(cluster.length))
      .update(cluster)
      .update(u16(dialer.nodeId))
      .update(u16(acceptor.nodeId))
      .update(dialer.nonce)
      .update(acceptor.nonce)
      .digest();
  }
}

function u16(value: number): Uint8Array {
  return Uint8Array.of(value >>> 8, value & 0xff);
}

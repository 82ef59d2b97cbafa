// A peer that a test drives frame by frame or byte by byte.
import { type Connection, VersionVector } from '@syncline/kernel';
import type { SimPorts } from '@syncline/kernel/testing';
import { decodeFrame, encodeFrame, type Frame } from '../frame-codec.js';
import { FrameSplitter } from '../frame-splitter.js';
import { Handshake, type HandshakeIdentity } from '../handshake.js';
import { identityOf, nonceOf } from './handshake-scripts.js';
import { PORT } from './test-node.js';

export interface RawPeerOptions extends Partial<HandshakeIdentity> {
  readonly nodeId: number;
  /** The node to dial. */
  readonly to: number;
}

export class RawPeer {
  readonly frames: Frame[] = [];
  readonly connection: Connection;
  isEnded = false;
  readonly #splitter = new FrameSplitter(2 ** 31);
  readonly #handshake: Handshake;

  private constructor(connection: Connection, handshake: Handshake) {
    this.connection = connection;
    this.#handshake = handshake;
    connection.readBy({
      take: (chunk) => {
        this.#splitter.push(chunk);
        for (let next = this.#splitter.next(); next !== undefined; next = this.#splitter.next()) {
          this.frames.push(decodeFrame(next));
        }
        return undefined;
      },
      end: () => {
        this.isEnded = true;
        connection.end();
      },
    });
  }

  /** Has sent nothing yet. */
  static async dial({ network }: SimPorts, options: RawPeerOptions): Promise<RawPeer> {
    const connection = await network.connect({ host: `n${options.to}`, port: PORT });
    const identity = identityOf({ clusterId: 'test', isPeer: () => true, epoch: 0, ...options });
    const handshake = new Handshake(identity, {
      dialedNodeId: options.to,
      nonce: nonceOf(options.nodeId),
      peerUris: [],
    });
    return new RawPeer(connection, handshake);
  }

  /** Authenticated, and the first heartbeats are exchanged. */
  static async up(ports: SimPorts, options: RawPeerOptions): Promise<RawPeer> {
    const peer = await RawPeer.dial(ports, options);
    await peer.authenticate(ports);
    peer.greet(new VersionVector());
    return peer;
  }

  async authenticate({ clock }: SimPorts): Promise<void> {
    for (const frame of this.#handshake.start()) this.send(frame);
    let read = 0;
    while (!this.isEnded) {
      await clock.sleep(1);
      const frame = this.frames[read];
      if (frame === undefined) continue;
      read += 1;
      const step = this.#handshake.receive(frame);
      if (step.kind !== 'continue') return;
      for (const answer of step.send) this.send(answer);
    }
  }

  /** The first heartbeat: it has the channel `list`. */
  greet(version: VersionVector): void {
    const channels = [{ name: 'list', version }];
    this.send({ channel: 0, kind: 'heartbeat', sequence: 1, isReply: false, channels });
  }

  send(frame: Frame): void {
    this.connection.write(encodeFrame(frame));
  }

  sendBytes(bytes: Uint8Array): void {
    this.connection.write(bytes);
  }

  /** Frames of this kind that have arrived. */
  received<K extends Frame['kind']>(kind: K): readonly Extract<Frame, { readonly kind: K }>[] {
    return this.frames.filter(
      (frame): frame is Extract<Frame, { readonly kind: K }> => frame.kind === kind,
    );
  }

  get closeCode(): string | undefined {
    return this.received('close')[0]?.code;
  }
}

// One channel: what a slice publishes goes out to all peers, and what peers publish is delivered to the slice.
import {
  type ActorId,
  assert,
  type Dot,
  SynclineError,
  type VersionVector,
} from '@syncline/kernel';
import type { ChannelLink } from './channel-link.js';
import { type ChannelFrame, MESSAGE_FIELD_MAX, MESSAGE_FIELD_MIN } from './frame-codec.js';
import { Incoming, type Sender } from './incoming.js';
import { meshLimits } from './limits.js';
import type { ChannelHandler, MeshChannel } from './mesh.js';
import {
  Outgoing,
  type OutgoingDeps,
  type OutgoingOptions,
  type ReceiverStatus,
} from './outgoing.js';
import { VersionQueries } from './version-queries.js';

export interface ChannelDeps extends OutgoingDeps {
  readonly handler: ChannelHandler;
}

export interface ChannelOptions extends OutgoingOptions {
  readonly pendingOperationsMax: number;
  readonly pendingBytesMax: number;
}

interface Connected {
  readonly link: ChannelLink;
  readonly sender: Sender;
}

export class Channel implements MeshChannel {
  readonly #deps: ChannelDeps;
  readonly #incoming: Incoming;
  readonly #outgoing: Outgoing;
  readonly #queries = new VersionQueries();
  /** By node id. */
  readonly #connected = new Map<number, Connected>();
  /** Our actor. Undefined before `open`. */
  #actor: ActorId | undefined;

  constructor(deps: ChannelDeps, options: ChannelOptions) {
    const { pendingOperationsMax, pendingBytesMax, ackTimeoutMs } = options;
    this.#deps = deps;
    this.#incoming = new Incoming(deps, {
      operationsMax: pendingOperationsMax,
      bytesMax: pendingBytesMax,
      ackTimeoutMs,
    });
    this.#outgoing = new Outgoing(deps, options);
  }

  get ringBytes(): number {
    return this.#outgoing.ringBytes;
  }

  get pendingOperations(): number {
    return this.#incoming.pendingOperations;
  }

  get pendingBytes(): number {
    return this.#incoming.pendingBytes;
  }

  pendingOf(nodeId: number): number {
    return this.#incoming.pendingOf(nodeId);
  }

  receiverStatus(nodeId: number): ReceiverStatus | undefined {
    return this.#outgoing.statusOf(nodeId);
  }

  /** What peers may be shown. */
  version(): VersionVector {
    return this.#deps.handler.version();
  }

  open(actor: ActorId): void {
    this.#actor = actor;
    this.#outgoing.open(this.version().counterOf(actor));
  }

  /** Switches to a new actor. No peer is connected. */
  changeActor(actor: ActorId): void {
    this.#actor = actor;
    this.#outgoing.reset(this.version().counterOf(actor));
  }

  up(link: ChannelLink, version: VersionVector): void {
    const { nodeId } = link;
    assert(!this.#connected.has(nodeId), `node ${nodeId} has one connection`);
    const sender = senderOf(link);
    this.#connected.set(nodeId, { link, sender });
    this.#incoming.up(sender);
    this.#outgoing.up(link, this.#counterIn(version));
    this.#deps.handler.peerUp(nodeId, version);
    this.#outgoing.pump(nodeId);
  }

  /** Does nothing unless this is the peer's connection in use. */
  down(link: ChannelLink): void {
    const connected = this.#connected.get(link.nodeId);
    if (connected?.link !== link) return;
    this.#connected.delete(link.nodeId);
    this.#incoming.down(connected.sender);
    this.#outgoing.down(link.nodeId);
    this.#queries.down(link.nodeId);
    this.#deps.handler.peerDown(link.nodeId);
  }

  /** Throws a SynclineError if the frame breaks the protocol. */
  receive(link: ChannelLink, frame: ChannelFrame): void {
    const { nodeId } = link;
    const connected = this.#connected.get(nodeId);
    if (connected?.link !== link) return;
    switch (frame.kind) {
      case 'operations':
        this.#incoming.receive(connected.sender, frame.encoded);
        break;
      case 'ack':
        this.#outgoing.onAck(
          nodeId,
          this.#ownCounter(frame.received),
          this.#ownCounter(frame.applied),
        );
        break;
      case 'nack':
        this.#deps.metrics.add('syncline_mesh_nacks_total', 1, { reason: frame.reason });
        if (frame.reason === 'evicted') this.#deps.handler.pullWanted(nodeId, 'evicted');
        else this.#outgoing.onNack(nodeId, frame.reason, this.#ownCounter(frame.expected));
        break;
      case 'version-query':
        link.send({ kind: 'version-reply', id: frame.id, version: this.version() });
        break;
      case 'version-reply':
        this.#queries.answered(nodeId, frame.id, frame.version);
        break;
      default:
        this.#deps.handler.message(nodeId, frame.field, frame.body);
    }
  }

  /** A heartbeat says what the peer has committed. */
  onHeartbeat(link: ChannelLink, version: VersionVector): void {
    if (this.#connected.get(link.nodeId)?.link !== link) return;
    const counter = this.#counterIn(version);
    this.#outgoing.onAck(link.nodeId, counter, counter);
  }

  publish(encoded: Uint8Array, base: number, last: number): void {
    this.#outgoing.publish(encoded, base, last);
  }

  committed(): void {
    this.#incoming.committed();
  }

  resume(): void {
    this.#incoming.resume();
  }

  send(nodeId: number, kind: number, body: Uint8Array): boolean {
    assert(kind >= MESSAGE_FIELD_MIN && kind <= MESSAGE_FIELD_MAX, `${kind} is a kind of message`);
    assert(body.length <= meshLimits.messageBytesMax.value, 'a message fits into a frame');
    const link = this.#connected.get(nodeId)?.link;
    const unsentBytesMax = meshLimits.peerUnsentBytesMax.value;
    if (link === undefined || link.unsentBytes + body.length > unsentBytesMax) return false;
    link.send({ kind: 'message', field: kind, body });
    return true;
  }

  askVersions(count: number, signal: AbortSignal): Promise<readonly VersionVector[]> {
    return this.#queries.ask(this.connectedPeers(), count, signal, (nodeId, id) =>
      this.#connected.get(nodeId)?.link.send({ kind: 'version-query', id }),
    );
  }

  appliedCount(counter: number): number {
    return this.#outgoing.appliedCount(counter);
  }

  whenApplied(counter: number, count: number, signal: AbortSignal): Promise<number> {
    return this.#outgoing.whenApplied(counter, count, signal);
  }

  connectedPeers(): readonly number[] {
    return [...this.#connected.keys()];
  }

  /** Hands all operations that are not sent yet to the connections. */
  flush(): void {
    this.#outgoing.flush();
  }

  close(): void {
    this.#incoming.close();
    this.#outgoing.close();
    this.#queries.close();
  }

  #counterIn(version: VersionVector): number {
    return this.#actor === undefined ? 0 : version.counterOf(this.#actor);
  }

  /** Acknowledgements of peers concern our operations. Without a dot: none of them. */
  #ownCounter(dot: Dot | undefined): number {
    if (dot === undefined) return 0;
    if (dot.actor === this.#actor) return dot.counter;
    throw new SynclineError('invalid-argument', 'an acknowledgement names another actor');
  }
}

function senderOf(link: ChannelLink): Sender {
  const { nodeId, actor } = link;
  const dotOf = (counter: number): Dot | undefined =>
    counter === 0 ? undefined : { actor, counter };
  return {
    nodeId,
    actor,
    sendAck: (received, applied) =>
      link.send({ kind: 'ack', received: dotOf(received), applied: dotOf(applied) }),
    sendNack: (reason, expected) => link.send({ kind: 'nack', reason, expected: dotOf(expected) }),
    refuse: (why) => link.refuse(why),
  };
}

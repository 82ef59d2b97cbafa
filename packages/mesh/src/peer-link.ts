// One connection to a peer, dialed or accepted: handshake, frames, heartbeats, and its end.
//
//   handshake -> greeting (both authenticated; our first heartbeat is sent) -> up (theirs has arrived) -> ended
//
// The first heartbeats name the channels. Channel k of a connection is the k-th of the sorted names that both
// sides have.
//
// M5  Before the handshake is done only its frames are read, each at most 4 KiB, within a time limit.
// M7  A connection on which nothing arrives for `connectionTimeoutMs` ends.
// M27 After `receiveTurnBytes` of frames other work runs, and the rest waits unread.
// M8  A peer that breaks the protocol is disconnected, and a connection never has more than its limit unsent.
import {
  assert,
  type Clock,
  type Connection,
  type Metrics,
  type Random,
  type Timer,
} from '@syncline/kernel';
import type { Channel } from './channel.js';
import type { ChannelLink } from './channel-link.js';
import {
  type CloseCode,
  decodeFrame,
  encodeFrame,
  encodeOperationsFrame,
  type Frame,
  type FrameKind,
  type HeartbeatFrame,
  LENGTH_BYTES,
  peerFault,
} from './frame-codec.js';
import { compressFrame, uncompressFrame } from './frame-compression.js';
import { FrameCounts } from './frame-counts.js';
import { FrameSplitter } from './frame-splitter.js';
import {
  type AuthenticatedPeer,
  Handshake,
  type HandshakeIdentity,
  type HandshakeStep,
  NONCE_BYTES,
} from './handshake.js';
import { meshLimits } from './limits.js';
import type { SnappyCodec } from './mesh.js';
import type { meshMetrics } from './metrics-list.js';

export interface PeerLinkDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics<keyof typeof meshMetrics>;
  readonly snappy: SnappyCodec | undefined;
  readonly identity: HandshakeIdentity;
  /** Sorted by name. */
  readonly channels: ReadonlyMap<string, Channel>;
  /** The peer is authenticated. A code closes the connection immediately. */
  onAuthenticated(link: PeerLink): CloseCode | undefined;
  /** The peer's versions are known; its channels are connected right after this call. */
  onUp(link: PeerLink): void;
  /** Called once. Its channels were disconnected before. */
  onEnded(link: PeerLink, end: LinkEnd): void;
}

export interface PeerLinkOptions {
  /** The node that was dialed; undefined on a connection that was opened to us. */
  readonly dialedNodeId: number | undefined;
  readonly heartbeatIntervalMs: number;
  readonly connectionTimeoutMs: number;
}

export interface LinkEnd {
  readonly why: string;
  /** Whether we refused the peer before it was authenticated. */
  readonly refusal?: CloseCode;
  /** The peer closed it because another connection is in use. */
  readonly isDuplicate?: boolean;
}

type LinkState = 'handshake' | 'greeting' | 'up' | 'ended';

export class PeerLink {
  readonly connection: Connection;
  readonly #deps: PeerLinkDeps;
  readonly #options: PeerLinkOptions;
  readonly #handshake: Handshake;
  readonly #splitter = new FrameSplitter(meshLimits.unauthenticatedFrameBytesMax.value);
  #state: LinkState = 'handshake';
  #peer: AuthenticatedPeer | undefined;
  #counts: FrameCounts | undefined;
  /** Channel k of the connection is number k - 1. */
  #channels: readonly {
    readonly name: string;
    readonly channel: Channel;
    readonly link: ChannelLink;
  }[] = [];
  #lastReceivedMs: number;
  #lastSentMs: number;
  #sequence = 0;
  #timer: Timer | undefined;
  /** Bytes of frames received since other work last ran. */
  #turnBytes = 0;

  constructor(deps: PeerLinkDeps, options: PeerLinkOptions, connection: Connection) {
    this.connection = connection;
    this.#deps = deps;
    this.#options = options;
    this.#handshake = new Handshake(deps.identity, {
      dialedNodeId: options.dialedNodeId,
      nonce: deps.random.bytes(NONCE_BYTES),
      peerUris: connection.peerUris,
    });
    this.#lastReceivedMs = deps.clock.monotonicMs();
    this.#lastSentMs = this.#lastReceivedMs;
  }

  get isDialed(): boolean {
    return this.#options.dialedNodeId !== undefined;
  }

  get isUp(): boolean {
    return this.#state === 'up';
  }

  get isEnded(): boolean {
    return this.#state === 'ended';
  }

  /** The peer, once authenticated. */
  get peer(): AuthenticatedPeer {
    assert(this.#peer !== undefined, 'M3: the peer is authenticated');
    return this.#peer;
  }

  /** Undefined before it is authenticated. */
  get peerNodeId(): number | undefined {
    return this.#peer?.nodeId;
  }

  get silentMs(): number {
    return this.#deps.clock.monotonicMs() - this.#lastReceivedMs;
  }

  start(): void {
    const timeoutMs = this.#options.connectionTimeoutMs;
    const fail = () => this.close('protocol', `no handshake within ${timeoutMs} ms`);
    this.#timer = this.#deps.clock.setTimer(timeoutMs, fail, { unref: true });
    for (const frame of this.#handshake.start()) this.#send(frame);
    this.connection.readBy({
      take: (chunk) => this.#take(chunk),
      end: () => {
        void this.#receiveAll('last');
        this.#end({ why: 'the peer closed the connection' });
      },
    });
  }

  /** Ends the connection with a reason; unsent bytes are still sent. */
  close(code: CloseCode, why: string): void {
    if (this.#state === 'ended') return;
    const isKnown = this.#state !== 'handshake';
    const text = isKnown ? why.slice(0, meshLimits.closeTextBytesMax.value / 4) : '';
    this.#send({ channel: 0, kind: 'close', code, text });
    this.#end(isKnown ? { why } : { why, refusal: code });
  }

  #take(chunk: Uint8Array): Promise<void> | undefined {
    if (this.#state === 'ended') return undefined;
    this.#lastReceivedMs = this.#deps.clock.monotonicMs();
    this.#splitter.push(chunk);
    return this.#receiveAll();
  }

  /** A promise if the rest has to wait, so that a peer that sends a lot does not hold up everything else. */
  #receiveAll(chunk: 'next' | 'last' = 'next'): Promise<void> | undefined {
    try {
      for (let next = this.#next(); next !== undefined; next = this.#next()) {
        this.#receive(next);
        const isTurnOver = this.#turnBytes >= meshLimits.receiveTurnBytes.value;
        if (isTurnOver && chunk !== 'last') return this.#receiveRest();
      }
    } catch (thrown) {
      this.close('protocol', peerFault(thrown));
    }
    return undefined;
  }

  async #receiveRest(): Promise<void> {
    this.#turnBytes = 0;
    await new Promise<void>((resolve) => void this.#deps.clock.defer(resolve));
    await this.#receiveAll();
  }

  /** Also undefined once the connection has ended. */
  #next(): Frame | undefined {
    if (this.#hasEnded()) return undefined;
    const bytes = this.#splitter.next();
    if (bytes === undefined) return undefined;
    const frame = decodeFrame(bytes);
    this.#turnBytes += bytes.length;
    this.#counts?.add('in', frame.kind, LENGTH_BYTES + bytes.length);
    if (frame.kind !== 'snappy' || this.#peer?.snappy !== true) return frame;
    const { snappy } = this.#deps;
    return snappy === undefined ? frame : uncompressFrame(snappy, frame.compressed);
  }

  #receive(frame: Frame): void {
    if (this.#state === 'handshake') {
      this.#onHandshake(this.#handshake.receive(frame));
      return;
    }
    switch (frame.kind) {
      case 'hello':
      case 'auth':
      case 'snappy':
        this.close('protocol', `unexpected ${frame.kind}`);
        break;
      case 'close': {
        const text = frame.text === '' ? '' : `: ${frame.text}`;
        const why = `the peer closed the connection (${frame.code}${text})`;
        this.#end({ why, isDuplicate: frame.code === 'duplicate' });
        break;
      }
      case 'heartbeat':
        this.#onHeartbeat(frame);
        break;
      default: {
        const place = this.#channels[frame.channel - 1];
        if (place === undefined) this.close('protocol', `unknown channel ${frame.channel}`);
        else place.channel.receive(place.link, frame);
      }
    }
  }

  #onHandshake(step: HandshakeStep): void {
    switch (step.kind) {
      case 'continue':
        for (const frame of step.send) this.#send(frame);
        break;
      case 'failed':
        this.close(step.close, step.why);
        break;
      case 'closed':
        this.#end({ why: `the peer refused the connection (${step.code})` });
        break;
      default:
        this.#authenticate(step.peer, step.send);
    }
  }

  #authenticate(peer: AuthenticatedPeer, frames: readonly Frame[]): void {
    this.#peer = peer;
    const refusal = this.#deps.onAuthenticated(this);
    if (this.#hasEnded()) return;
    if (refusal !== undefined) {
      this.close(refusal, `refused as ${refusal}`);
      return;
    }
    this.#state = 'greeting';
    this.#splitter.bytesMax = meshLimits.frameBytesMax.value;
    this.#counts = new FrameCounts(this.#deps.metrics, peer.nodeId);
    for (const frame of frames) this.#send(frame);
    this.#sendHeartbeat(false);
  }

  #onHeartbeat({ sequence, isReply, channels }: HeartbeatFrame): void {
    if (this.#state === 'greeting') {
      this.#connectChannels(channels);
      return;
    }
    if (!isReply) this.#sendHeartbeat(true, sequence);
    for (const { name, version } of channels) {
      const place = this.#channels.find((known) => known.name === name);
      place?.channel.onHeartbeat(place.link, version);
    }
  }

  #connectChannels(channels: HeartbeatFrame['channels']): void {
    this.#state = 'up';
    this.#planHeartbeat();
    const versions = new Map(channels.map(({ name, version }) => [name, version]));
    const shared = [...this.#deps.channels].filter(([name]) => versions.has(name));
    this.#channels = shared.map(([name, channel], index) => ({
      name,
      channel,
      link: this.#channelLink(index + 1),
    }));
    this.#deps.onUp(this);
    for (const { name, channel, link } of this.#channels) {
      const version = versions.get(name);
      if (this.#hasEnded() || version === undefined) return;
      channel.up(link, version);
    }
  }

  #channelLink(number: number): ChannelLink {
    const { nodeId, actor } = this.peer;
    const { connection } = this;
    return {
      nodeId,
      actor,
      get unsentBytes() {
        return connection.unsentBytes;
      },
      send: (frame) => this.#send({ ...frame, channel: number }),
      sendOperations: (chunks) => this.#write('operations', encodeOperationsFrame(number, chunks)),
      whenDrained: () => connection.drained(),
      refuse: (why) => this.close('protocol', why),
    };
  }

  #sendHeartbeat(isReply: boolean, sequence = this.#nextSequence()): void {
    const channels = [...this.#deps.channels].map(([name, channel]) => ({
      name,
      version: channel.version(),
    }));
    this.#send({ channel: 0, kind: 'heartbeat', sequence, isReply, channels });
  }

  #nextSequence(): number {
    this.#sequence = (this.#sequence + 1) >>> 0;
    return this.#sequence;
  }

  /** The timer is set for the next moment at which something may be due. */
  #planHeartbeat(): void {
    this.#timer?.cancel();
    const { heartbeatIntervalMs, connectionTimeoutMs } = this.#options;
    const dueMs = Math.min(
      this.#lastSentMs + heartbeatIntervalMs,
      this.#lastReceivedMs + connectionTimeoutMs,
    );
    const delayMs = Math.max(1, dueMs - this.#deps.clock.monotonicMs());
    this.#timer = this.#deps.clock.setTimer(delayMs, () => this.#onTimer(), { unref: true });
  }

  #onTimer(): void {
    const { heartbeatIntervalMs, connectionTimeoutMs } = this.#options;
    if (this.silentMs >= connectionTimeoutMs) {
      this.#end({ why: `nothing was received for ${connectionTimeoutMs} ms` });
      this.connection.destroy();
      return;
    }
    const quietMs = this.#deps.clock.monotonicMs() - this.#lastSentMs;
    if (quietMs >= heartbeatIntervalMs) this.#sendHeartbeat(false);
    this.#counts?.flush();
    if (!this.#hasEnded()) this.#planHeartbeat();
  }

  #send(frame: Frame): void {
    this.#write(frame.kind, encodeFrame(frame));
  }

  #write(kind: FrameKind, encoded: Uint8Array): void {
    if (this.#state === 'ended') return;
    const { snappy } = this.#deps;
    const isCompressed = this.#peer?.snappy === true && snappy !== undefined;
    const bytes = isCompressed ? compressFrame(snappy, encoded) : encoded;
    this.#counts?.add('out', kind, bytes.length);
    this.#lastSentMs = this.#deps.clock.monotonicMs();
    this.connection.write(bytes);
    if (this.connection.unsentBytes <= meshLimits.connectionUnsentBytesMax.value) return;
    this.#end({ why: 'the peer does not read what it is sent' });
    this.connection.destroy();
  }

  #end(end: LinkEnd): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#timer?.cancel();
    this.#counts?.flush();
    for (const { channel, link } of this.#channels) channel.down(link);
    this.connection.end();
    this.#cutLater();
    this.#deps.onEnded(this, end);
  }

  /** Allows some time to send the last bytes. */
  #cutLater(): void {
    const cut = () => this.connection.destroy();
    const timer = this.#deps.clock.setTimer(meshLimits.closeMs.value, cut, { unref: true });
    void this.connection.closed.then(() => timer.cancel());
  }

  /** A call may have ended the connection, which the compiler cannot know. */
  #hasEnded(): boolean {
    return this.isEnded;
  }
}

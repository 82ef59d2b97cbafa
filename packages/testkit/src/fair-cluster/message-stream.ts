// One side of a simulated stream: whole messages, in order, over a connection that may be slow, cut or silent
// forever. It does what gRPC does for both sides:
//
//   credit    a side with `windowMessages` unread messages is full until the peer reports one as read
//   keepalive a peer that is silent for too long counts as gone
//   status    the last frame says how the stream ended
import { type Connection, SynclineError, type Timer } from '@syncline/kernel';
import type { SimPorts } from '@syncline/kernel/testing';
import { encodeStreamFrame, type StreamFrame, StreamFrames } from './message-frames.js';

const PING_MS = 4_000;
const SILENCE_MS_MAX = 10_000;
const SLOW_READ_MS_MAX = 3_000;

export interface MessageStreamDeps {
  readonly ports: SimPorts;
  /** Simulated time, the same for all nodes. */
  readonly simulatedMs: () => number;
  readonly connection: Connection;
}

export interface MessageStreamOptions {
  /** Messages in flight before the stream is full. */
  readonly windowMessages: number;
}

export interface MessageListener {
  /** The next message waits for the promise. */
  onMessage(body: Uint8Array, delayMs: number): void | Promise<void>;
  onDrain(): void;
  /** Called once, and nothing after it; not called after `destroy`. */
  onEnd(error: SynclineError | undefined): void;
}

export class MessageStream {
  readonly #deps: MessageStreamDeps;
  readonly #options: MessageStreamOptions;
  readonly #listener: MessageListener;
  #unreadCount = 0;
  #isFull = false;
  #isOver = false;
  #receivedAtMs: number;
  #keepalive: Timer | undefined;

  constructor(deps: MessageStreamDeps, options: MessageStreamOptions, listener: MessageListener) {
    this.#deps = deps;
    this.#options = options;
    this.#listener = listener;
    this.#receivedAtMs = deps.ports.clock.monotonicMs();
    this.#armKeepalive();
    void this.#read();
  }

  /** False: full, wait for `onDrain`. */
  send(body: Uint8Array): boolean {
    if (this.#isOver) return true;
    this.#unreadCount += 1;
    this.#write({ kind: 'message', body, sentMs: 0 });
    this.#isFull = this.#unreadCount >= this.#options.windowMessages;
    return !this.#isFull;
  }

  /** The peer is notified after everything that was sent. */
  end(error?: SynclineError): void {
    if (this.#isOver) return;
    this.#write({ kind: 'end', error });
    this.#deps.connection.end();
  }

  destroy(): void {
    if (this.#isOver) return;
    this.#over();
    this.#deps.connection.destroy();
  }

  /** Receives nothing more, but what was sent still arrives: the peer notices much later. */
  abandon(lingerMs: number): void {
    if (this.#isOver) return;
    this.#over();
    this.#deps.ports.clock.setTimer(lingerMs, () => this.#deps.connection.destroy());
  }

  async #read(): Promise<void> {
    const frames = new StreamFrames();
    const lost = new SynclineError('unavailable', 'the connection of a stream is lost');
    try {
      for await (const chunk of this.#deps.connection.incoming) {
        this.#receivedAtMs = this.#deps.ports.clock.monotonicMs();
        frames.push(chunk);
        for (let frame = frames.take(); frame !== undefined; frame = frames.take()) {
          if (this.#isOver) return;
          await this.#handle(frame);
        }
      }
    } catch (thrown) {
      if (!(thrown instanceof SynclineError)) throw thrown;
    }
    this.#finish(lost);
  }

  async #handle(frame: StreamFrame): Promise<void> {
    if (frame.kind === 'end') this.#finish(frame.error);
    else if (frame.kind === 'credit') this.#credited();
    else if (frame.kind === 'message') {
      const { chaos, clock, random } = this.#deps.ports;
      if (chaos.buggify('fair/slow-reader')) await clock.sleep(SLOW_READ_MS_MAX * random.float());
      if (this.#isOver) return;
      await this.#listener.onMessage(frame.body, this.#deps.simulatedMs() - frame.sentMs);
      if (!this.#isOver) this.#write({ kind: 'credit' });
    }
  }

  #credited(): void {
    this.#unreadCount -= 1;
    if (!this.#isFull || this.#unreadCount > this.#options.windowMessages / 2) return;
    this.#isFull = false;
    this.#listener.onDrain();
  }

  #write(frame: StreamFrame): void {
    this.#deps.connection.write(encodeStreamFrame(frame, this.#deps.simulatedMs()));
  }

  #armKeepalive(): void {
    const { clock } = this.#deps.ports;
    this.#keepalive = clock.setTimer(PING_MS, () => {
      const silentMs = clock.monotonicMs() - this.#receivedAtMs;
      if (silentMs > SILENCE_MS_MAX) {
        this.#finish(new SynclineError('unavailable', 'the peer of a stream is silent'));
        return;
      }
      this.#write({ kind: 'ping' });
      this.#armKeepalive();
    });
  }

  #finish(error: SynclineError | undefined): void {
    if (this.#isOver) return;
    this.#over();
    this.#deps.connection.destroy();
    this.#listener.onEnd(error);
  }

  #over(): void {
    this.#isOver = true;
    this.#keepalive?.cancel();
  }
}

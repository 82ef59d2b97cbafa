// What one stream still has to receive. While its sink has room that is nothing: messages are sent immediately.
// When the sink is full, or others come first, the stream is behind, and the outbox records what to send later:
// marks of the cells it missed, requested snapshots, the highest sequence number to acknowledge. No values: the
// newest ones are read when they can be sent.
//
// F9  A stream that is behind holds at most one mark per live cell.
import type { SynclineError } from '@syncline/kernel';
import { CellMarks } from './cell-marks.js';
import type { MaybePromise } from './fair-store.js';

// The two ends of a stream as the state service sees them. The gRPC adapter, the simulation and tests implement
// the sink; the service returns the stream.

export interface StreamSink {
  /** Always accepts the message. False: it is full; nothing more is written until `drained` is called. */
  write(message: Uint8Array): boolean;
  /** Ends the stream, cleanly or with an error. Nothing is written afterwards. */
  end(error?: SynclineError): void;
}

export interface StateStream {
  /**
   * One message of the client. Never throws: a bad message ends the stream by `sink.end`. While a returned
   * promise is pending the adapter passes no further message, so that flow control stops the peer.
   */
  receive(message: Uint8Array): MaybePromise<void>;
  /** The sink has room again. */
  drained(): void;
  /** The client is gone, or has ended its side. Nothing is written afterwards. */
  closed(): void;
}

export interface OwedSnapshot {
  readonly seed: bigint;
  /** Cells before it were sent. */
  nextSlot: number;
}

export class StreamOutbox {
  readonly #sink: StreamSink;
  #ackSeq = 0;
  readonly missed = new Map<bigint, CellMarks>();
  readonly snapshots: OwedSnapshot[] = [];
  /** When a seed's state was last requested, by a monotonic clock. */
  readonly askedAtMs = new Map<bigint, number>();
  /** The Welcome, if it could not be sent yet. */
  welcome: Uint8Array | undefined;
  owesInstances = false;
  /** The number of instances last sent to the client. */
  instancesSent = 0;
  #isFull = false;
  /** Waits for a turn with capacity. */
  #isHeld = false;
  #isEnded = false;

  constructor(sink: StreamSink) {
    this.#sink = sink;
  }

  get isBehind(): boolean {
    return this.#isFull || this.#isHeld;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** False: the stream is now behind. */
  write(message: Uint8Array): boolean {
    const hasRoom = this.#sink.write(message);
    this.#isFull = !hasRoom;
    return hasRoom;
  }

  drained(): void {
    this.#isFull = false;
  }

  /** Behind until it is released, whatever room there is. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
  }

  end(error?: SynclineError): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.forgetAll();
    this.#sink.end(error);
  }

  /** The client is gone: nothing is sent any more. */
  abandon(): void {
    this.#isEnded = true;
    this.forgetAll();
  }

  /** Clears everything of a namespace that the stream has left. */
  forgetAll(): void {
    this.#ackSeq = 0;
    this.#isHeld = false;
    this.missed.clear();
    this.snapshots.length = 0;
    this.askedAtMs.clear();
    this.owesInstances = false;
  }

  forgetSeed(seed: bigint): void {
    this.missed.delete(seed);
    this.askedAtMs.delete(seed);
  }

  /** Returns how many of the marks it had: their values were never sent and never will be. */
  miss(seed: bigint, marks: CellMarks): number {
    let missed = this.missed.get(seed);
    if (missed === undefined) {
      missed = new CellMarks();
      this.missed.set(seed, missed);
    }
    return missed.addAll(marks);
  }

  oweAck(seq: number): void {
    if (!this.#isEnded) this.#ackSeq = Math.max(seq, this.#ackSeq);
  }

  /** For the last pending message; 0 if there is none. */
  takeAck(): number {
    const seq = this.#ackSeq;
    this.#ackSeq = 0;
    return seq;
  }

  /** There are values to send, before or with an acknowledgement. */
  get owesValues(): boolean {
    return this.snapshots.length > 0 || this.missed.size > 0;
  }
}

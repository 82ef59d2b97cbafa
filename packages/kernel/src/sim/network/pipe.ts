// One direction of a simulated connection: what TCP does to the bytes of one side.
//
//   write -> unsent -> (window) -> flight -> (link) -> the other side's inbox -> reader
//
// The window bounds what is in flight or unread, so that a reader that stops also stops the writer. Bytes that
// reach a process that is gone are answered with a reset.
//
// K85  What arrives is a prefix of what was written; all of it, if the end arrives.
import type { ProcessLife } from '../process-life.js';
import type { Scheduler } from '../scheduler.js';
import { hashBytes } from '../trace.js';
import { ByteBuffer } from './byte-buffer.js';
import { Flight, type Segment } from './flight.js';
import type { Link } from './link.js';

export type BreakCode = 'ECONNRESET' | 'ETIMEDOUT';

/** A connection's side. It sends through one pipe and receives through another. */
export interface PipeEnd {
  readonly life: ProcessLife;
  /** The system has accepted some of what was unsent. */
  taken(): void;
  /** Our end has arrived at the other side. */
  finished(): void;
  arrived(bytes: Uint8Array): void;
  /** The other side's end has arrived. */
  ended(): void;
  broken(code: BreakCode): void;
}

export interface PipeDeps {
  readonly scheduler: Scheduler;
  readonly link: Link;
  /** The reverse link, for acknowledgements. */
  readonly back: Link;
  readonly sender: PipeEnd;
  readonly receiver: PipeEnd;
  /** For the trace. */
  readonly label: string;
}

/** Bytes in flight or unread at the other side, at most. */
const WINDOW_BYTES = 64 * 1024;
/** Idle time after which the system probes the other machine. */
const KEEP_ALIVE_MS = 30_000;

export class Pipe {
  readonly #deps: PipeDeps;
  readonly #flight: Flight;
  readonly #unsent = new ByteBuffer();
  #heldBytes = 0;
  #sending: 'open' | 'ending' | 'done' = 'open';
  #isReceiverGone = false;

  constructor(deps: PipeDeps) {
    this.#deps = deps;
    this.#flight = new Flight({
      ...deps,
      receiver: () => (this.#isReceiverGone ? undefined : deps.receiver.life),
      onArrival: (segment) => this.#arrive(segment),
      onFoundDead: () => this.#breakBoth('ECONNRESET'),
      onGiveUp: () => this.#breakSender('ETIMEDOUT'),
    });
  }

  get unsentBytes(): number {
    return this.#unsent.length;
  }

  take(chunk: Uint8Array): void {
    this.#unsent.push(chunk);
    this.#depart();
  }

  end(): void {
    if (this.#sending === 'open') this.#sending = 'ending';
    this.#depart();
  }

  /** The sender leaves: unsent bytes are dropped, bytes in flight still arrive, then `last`. */
  leave(last: 'end' | 'reset'): void {
    this.#unsent.clear();
    if (this.#sending !== 'done') this.#flight.launch({ kind: last });
    this.#sending = 'done';
  }

  /** The sender's machine is without power. Of what is in flight, a part may still arrive. */
  vanish(): void {
    this.#unsent.clear();
    this.#sending = 'done';
    this.#flight.truncate(Math.floor(this.#deps.link.random.float() * (this.#flight.length + 1)));
  }

  /** Arrivals are discarded from now on. */
  receiverLeft(): void {
    if (this.#isReceiverGone) return;
    this.#isReceiverGone = true;
    this.#flight.reschedule();
  }

  /** The same, but the sender is not notified: it finds out by a keep-alive probe. */
  receiverVanished(): void {
    this.receiverLeft();
    const { scheduler, link, label } = this.#deps;
    const run = () => this.#breakSender(link.isOpen ? 'ECONNRESET' : 'ETIMEDOUT');
    scheduler.after(KEEP_ALIVE_MS, { kind: 'keep-alive', subject: label, run });
  }

  /** The reader took bytes. The sender is notified over the reverse direction, once that is open. */
  consumed(bytes: number): void {
    const { back } = this.#deps;
    if (!back.isOpen) {
      back.whenOpen(() => this.consumed(bytes));
      return;
    }
    this.#heldBytes -= bytes;
    this.#depart();
  }

  /** The connection is reset in the middle of what is in flight. */
  breakNow(): void {
    this.#breakBoth('ECONNRESET', this.#prefixOf(this.#flight.nextBytes));
  }

  #depart(): void {
    const unsentBefore = this.#unsent.length;
    while (this.#unsent.length > 0 && this.#heldBytes < WINDOW_BYTES) {
      const room = Math.min(this.#unsent.length, WINDOW_BYTES - this.#heldBytes);
      const bytes = this.#unsent.take(this.#deps.link.cutAt(room));
      this.#heldBytes += bytes.length;
      this.#flight.launch({ kind: 'data', bytes });
    }
    if (this.#unsent.length < unsentBefore) this.#deps.sender.taken();
    if (this.#sending !== 'ending' || this.#unsent.length > 0) return;
    this.#sending = 'done';
    this.#flight.launch({ kind: 'end' });
  }

  #arrive(segment: Segment): void {
    if (this.#isReceiverGone) this.#bounce();
    else if (segment.kind === 'data') this.#deliver(segment.bytes);
    else if (segment.kind === 'end') this.#deliverEnd();
    else this.#deps.receiver.broken('ECONNRESET');
  }

  #deliverEnd(): void {
    this.#deps.receiver.ended();
    this.#tellSender('ended', (sender) => sender.finished());
  }

  #deliver(bytes: Uint8Array): void {
    const { scheduler, link, back, receiver, label } = this.#deps;
    if (link.happens(link.profile.resetProbability)) {
      this.#breakBoth('ECONNRESET', this.#prefixOf(bytes));
      return;
    }
    scheduler.note('bytes', label, hashBytes(bytes));
    receiver.arrived(bytes);
    if (!back.isOpen) this.#flight.giveUpUnlessOpen(back);
  }

  /** A packet for a connection that the other machine does not know. */
  #bounce(): void {
    this.#flight.truncate(0);
    this.#breakSender('ECONNRESET');
  }

  /** The receiver gets `lastBytes`, then the end of the connection. */
  #breakBoth(code: BreakCode, lastBytes: Uint8Array = new Uint8Array(0)): void {
    const { scheduler, receiver, label } = this.#deps;
    this.#flight.truncate(0);
    this.#breakSender(code);
    const run = () => {
      if (lastBytes.length > 0) receiver.arrived(lastBytes);
      receiver.broken(code);
    };
    scheduler.after(0, { kind: 'broken', subject: label, owner: receiver.life, run });
  }

  #prefixOf(bytes: Uint8Array): Uint8Array {
    return bytes.slice(0, Math.floor(this.#deps.link.random.float() * bytes.length));
  }

  #breakSender(code: BreakCode): void {
    this.#tellSender('broken', (sender) => sender.broken(code));
  }

  #tellSender(kind: string, tell: (sender: PipeEnd) => void): void {
    const { scheduler, back, sender, label } = this.#deps;
    const run = () => tell(sender);
    scheduler.after(back.delayMs(), { kind, subject: label, owner: sender.life, run });
  }
}

// What leaves a session, in order: replies of a turn wait until it is synced if they must, then until the sink
// takes them.
import { assert, SynclineError } from '@syncline/kernel';
import type { RespSink } from '../sets.js';

interface HeldReplies {
  bytes: Uint8Array;
  /** They leave once the log is synced up to this number. */
  readonly number: number;
  readonly repliesCount: number;
}

export class SessionOutput {
  readonly #onDrained: () => void;
  /** Replies that wait for a sync, or stand behind such. */
  #held: HeldReplies[] = [];
  #queue: Uint8Array[] = [];
  #unsentBytes = 0;
  #sink: RespSink | undefined;
  #isSinkFull = false;
  #hasProgress = false;
  #isEnding = false;
  #isDropped = false;

  /** `onDrained` is called when less waits than before. */
  constructor(onDrained: () => void) {
    this.#onDrained = onDrained;
  }

  /** Bytes that wait for a sync or that the sink has not taken. */
  get unsentBytes(): number {
    return this.#unsentBytes;
  }

  /** True if the sink has taken something since the last call. */
  takeProgress(): boolean {
    const hasProgress = this.#hasProgress;
    this.#hasProgress = false;
    return hasProgress;
  }

  writeTo(sink: RespSink): void {
    assert(this.#sink === undefined, 'a session has one sink');
    this.#sink = sink;
    this.#pump();
  }

  /** With a number above 0 the replies wait until the log is synced up to it. */
  write(bytes: Uint8Array, number = 0, repliesCount = 0): void {
    if (this.#isDropped || bytes.length === 0) return;
    if (number > 0 || this.#held.length > 0) {
      this.#held.push({ bytes, number, repliesCount });
      this.#unsentBytes += bytes.length;
    } else {
      this.#send(bytes);
    }
  }

  /** Whether replies wait for a sync. */
  get isHolding(): boolean {
    return this.#held.length > 0;
  }

  synced(number: number): void {
    let released = 0;
    while (released < this.#held.length && (this.#held[released]?.number ?? 0) <= number)
      released += 1;
    const held = this.#held.splice(0, released);
    for (const { bytes } of held) {
      this.#unsentBytes -= bytes.length;
      this.#send(bytes);
    }
    if (held.length > 0) this.#settle();
  }

  /** A sync failed: each reply that waits becomes this error. False when a part of a reply was among them. */
  refuse(error: SynclineError): boolean {
    const held = this.#held;
    this.#held = [];
    for (const { bytes, repliesCount } of held) {
      this.#unsentBytes -= bytes.length;
      this.#send(misconfReplies(error, repliesCount));
    }
    this.#settle();
    return held.every(({ repliesCount }) => repliesCount > 0);
  }

  /** Behind what waits, the connection is closed. */
  end(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#settle();
  }

  /** The client is gone. */
  drop(): void {
    this.#isDropped = true;
    this.#held = [];
    this.#queue = [];
    this.#unsentBytes = 0;
  }

  #send(bytes: Uint8Array): void {
    if (this.#sink !== undefined && !this.#isSinkFull) {
      this.#hand(this.#sink, bytes);
      return;
    }
    this.#queue.push(bytes);
    this.#unsentBytes += bytes.length;
  }

  #hand(sink: RespSink, bytes: Uint8Array): void {
    this.#hasProgress = true;
    if (sink.write(bytes)) return;
    this.#isSinkFull = true;
    sink.drained().then(
      () => {
        this.#isSinkFull = false;
        this.#pump();
      },
      () => this.drop(), // the session learns it from the signal `gone`
    );
  }

  #pump(): void {
    const sink = this.#sink;
    if (sink === undefined || this.#isDropped) return;
    let taken = 0;
    for (; taken < this.#queue.length && !this.#isSinkFull; taken += 1) {
      const bytes = this.#queue[taken] as Uint8Array;
      this.#unsentBytes -= bytes.length;
      this.#hand(sink, bytes);
    }
    this.#queue.splice(0, taken);
    this.#settle();
    if (taken > 0) this.#onDrained();
  }

  #settle(): void {
    if (!this.#isEnding || this.#held.length > 0 || this.#queue.length > 0 || this.#isSinkFull)
      return;
    this.#sink?.end();
  }
}

/** Redis has this prefix for its own trouble with the disk. */
export function misconfReplies(error: SynclineError, count: number): Uint8Array {
  const line = `-MISCONF ${error.message.replaceAll(/[\r\n]/g, ' ')}\r\n`;
  return Buffer.from(line.repeat(count), 'latin1');
}

/** For someone who must wait until replies have left. */
export function deferred() {
  let resolve: () => void = () => undefined;
  let reject: (error: unknown) => void = () => undefined;
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}

export function goneError(): SynclineError {
  return new SynclineError('closed', 'the client has closed its connection');
}

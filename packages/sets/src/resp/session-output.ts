// What leaves a session, in order: replies of a turn wait until it is synced if they must, then until the sink
// takes them.
import { assert, SynclineError } from '@syncline/kernel';
import type { RespSink } from '../sets.js';
import type { TurnReplies } from './turn-replies.js';

interface HeldReplies {
  readonly bytes: Uint8Array;
  /** They leave once the log is synced up to this number. */
  readonly number: number;
  readonly replies: TurnReplies;
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

  /** With a number above 0 the replies wait until the log is synced up to it. True: `replies` must stay as they are. */
  write(bytes: Uint8Array, number: number, replies: TurnReplies): boolean {
    if (this.#isDropped || bytes.length === 0) return false;
    if (number === 0 && this.#held.length === 0) {
      this.#send(bytes);
      return false;
    }
    this.#held.push({ bytes, number, replies });
    this.#unsentBytes += bytes.length;
    return true;
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

  /** A sync failed: what waits is refused. False when a part of a reply was among it. */
  refuse(error: SynclineError): boolean {
    const held = this.#held;
    this.#held = [];
    let isWhole = true;
    for (const { bytes, replies } of held) {
      this.#unsentBytes -= bytes.length;
      const refused = replies.refused(bytes, error);
      if (refused === undefined) isWhole = false;
      else this.#send(refused);
    }
    this.#settle();
    return isWhole;
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

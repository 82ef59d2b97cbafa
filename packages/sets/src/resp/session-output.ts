// What leaves a session. Writes to the sink while that takes more; the rest waits here, in order.
import { assert } from '@syncline/kernel';
import type { RespSink } from '../sets.js';

export class SessionOutput {
  readonly #onDrained: () => void;
  #sink: RespSink | undefined;
  #isSinkFull = false;
  #queue: Uint8Array[] = [];
  #queuedBytes = 0;
  #isTaken = false;
  #isEnding = false;
  #isDropped = false;

  /** `onDrained` is called when less waits than before. */
  constructor(onDrained: () => void) {
    this.#onDrained = onDrained;
  }

  /** Bytes that the sink has not taken. */
  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  /** True if the sink has taken something since the last call. */
  takeProgress(): boolean {
    const isTaken = this.#isTaken;
    this.#isTaken = false;
    return isTaken;
  }

  writeTo(sink: RespSink): void {
    assert(this.#sink === undefined, 'a session has one sink');
    this.#sink = sink;
    this.#pump();
  }

  write(chunk: Uint8Array): void {
    if (this.#isDropped || chunk.length === 0) return;
    assert(!this.#isEnding, 'nothing is written behind the end');
    if (this.#sink !== undefined && !this.#isSinkFull) {
      this.#hand(this.#sink, chunk);
      return;
    }
    this.#queue.push(chunk);
    this.#queuedBytes += chunk.length;
  }

  /** Behind what waits, the connection is closed. */
  end(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#pump();
  }

  /** The client is gone. */
  drop(): void {
    this.#isDropped = true;
    this.#queue = [];
    this.#queuedBytes = 0;
  }

  #hand(sink: RespSink, chunk: Uint8Array): void {
    this.#isTaken = true;
    if (sink.write(chunk)) return;
    this.#isSinkFull = true;
    sink.drained().then(
      () => {
        this.#isSinkFull = false;
        this.#pump();
      },
      () => this.drop(), // the signal `gone` tells the session
    );
  }

  #pump(): void {
    const sink = this.#sink;
    if (sink === undefined || this.#isDropped) return;
    let taken = 0;
    for (; taken < this.#queue.length && !this.#isSinkFull; taken += 1) {
      const chunk = this.#queue[taken];
      if (chunk === undefined) break;
      this.#queuedBytes -= chunk.length;
      this.#hand(sink, chunk);
    }
    this.#queue.splice(0, taken);
    if (this.#isEnding && this.#queue.length === 0 && !this.#isSinkFull) sink.end();
    if (taken > 0) this.#onDrained();
  }
}

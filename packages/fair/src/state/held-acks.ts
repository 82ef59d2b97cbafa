// Acknowledgements that wait for the round, or the snapshot, whose values include their changes. For a client
// each one covers everything sent before, so those of a stream are sent in order.
import type { StreamOutbox } from './stream-outbox.js';

interface HeldAck {
  readonly outbox: StreamOutbox;
  readonly seed: bigint;
  readonly seq: number;
  /** The last change that must go out before it. */
  readonly change: number;
}

export class HeldAcks {
  #held: HeldAck[] = [];

  hold(ack: HeldAck): void {
    this.#held.push(ack);
  }

  /** Releases those whose changes all came before this one. */
  releaseBefore(change: number): void {
    const held = this.#held;
    this.#held = [];
    for (const ack of held) {
      if (ack.change < change) ack.outbox.oweAck(ack.seq);
      else this.#held.push(ack);
    }
  }

  /** A snapshot includes all changes of its seed; a stream with other pending changes must wait for those. */
  releaseFor(outbox: StreamOutbox, seed: bigint): void {
    const own = this.#held.filter((ack) => ack.outbox === outbox);
    if (own.some((ack) => ack.seed !== seed)) return;
    for (const { seq } of own) outbox.oweAck(seq);
    this.#held = this.#held.filter((ack) => ack.outbox !== outbox);
  }

  forget(outbox: StreamOutbox): void {
    if (this.#held.length > 0) this.#held = this.#held.filter((ack) => ack.outbox !== outbox);
  }
}

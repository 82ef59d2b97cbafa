// VersionVector: for each actor, the highest counter applied, without gaps. It covers every dot up to it.
//
// K3  `merge` is commutative, associative and idempotent; the result dominates both sides.
// K4  Encoded entries are sorted and name no actor twice; anything else is refused, never repaired.
import { assert } from '../assert.js';
import { SynclineError } from '../error.js';
import { kernelLimits } from '../limits.js';
import { type ActorId, formatActor } from './actor-id.js';
import { DOT_BYTES, type Dot, formatDot, readDot, writeDot } from './dot.js';

/** Mutable: take a `copy` to keep one for later. */
export class VersionVector {
  readonly #counters = new Map<ActorId, number>();

  /** Dots in any order; of two with the same actor the higher one counts. */
  static of(...dots: readonly Dot[]): VersionVector {
    const vector = new VersionVector();
    for (const { actor, counter } of dots) vector.#raise(actor, counter);
    return vector;
  }

  static fromBytes(bytes: Uint8Array): VersionVector {
    const entriesMax = kernelLimits.versionVectorEntriesMax.value;
    const entries = bytes.length / DOT_BYTES;
    if (!Number.isInteger(entries)) {
      throw malformed(`${bytes.length} bytes are not a multiple of ${DOT_BYTES}`);
    }
    if (entries > entriesMax) {
      throw new SynclineError(
        'limit-exceeded',
        `version vector has ${entries} entries, at most ${entriesMax}`,
        {
          details: { limit: 'versionVectorEntriesMax' },
        },
      );
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const vector = new VersionVector();
    let previous = -1;
    for (let offset = 0; offset < bytes.length; offset += DOT_BYTES) {
      const { actor, counter } = readDot(view, offset);
      if (actor <= previous)
        throw malformed(`actor ${formatActor(actor)} is repeated or out of order`);
      previous = actor;
      vector.#counters.set(actor, counter);
    }
    return vector;
  }

  get size(): number {
    return this.#counters.size;
  }

  /** The highest counter of this actor; 0 when there is none. */
  counterOf(actor: ActorId): number {
    return this.#counters.get(actor) ?? 0;
  }

  covers({ actor, counter }: Dot): boolean {
    return counter <= this.counterOf(actor);
  }

  /** True when every entry of `other` is covered here. Every vector dominates itself. */
  dominates(other: VersionVector): boolean {
    for (const [actor, counter] of other.#counters) {
      if (counter > this.counterOf(actor)) return false;
    }
    return true;
  }

  equals(other: VersionVector): boolean {
    return this.dominates(other) && other.dominates(this);
  }

  /** Advances one actor to `counter`. Counters have no gaps, so going back is a bug. */
  advance(actor: ActorId, counter: number): this {
    assert(counter > this.counterOf(actor), `K4: ${formatActor(actor)} only moves forward`);
    this.#counters.set(actor, counter);
    return this;
  }

  /** Takes every entry of `other` that is higher. */
  merge(other: VersionVector): this {
    for (const [actor, counter] of other.#counters) this.#raise(actor, counter);
    return this;
  }

  /** One dot per actor, its highest, sorted. */
  entries(): readonly Dot[] {
    return [...this.#counters]
      .map(([actor, counter]) => ({ actor, counter }))
      .sort((a, b) => a.actor - b.actor);
  }

  copy(): VersionVector {
    return new VersionVector().merge(this);
  }

  /** 12 bytes per entry, sorted. */
  toBytes(): Uint8Array {
    const bytes = new Uint8Array(this.size * DOT_BYTES);
    const view = new DataView(bytes.buffer);
    for (const [i, entry] of this.entries().entries()) writeDot(view, i * DOT_BYTES, entry);
    return bytes;
  }

  /** `node.epoch:counter,…`, sorted; `-` when empty. */
  toString(): string {
    return this.size === 0 ? '-' : this.entries().map(formatDot).join(',');
  }

  #raise(actor: ActorId, counter: number): void {
    if (counter > this.counterOf(actor)) this.#counters.set(actor, counter);
  }
}

function malformed(why: string): SynclineError {
  return new SynclineError('invalid-argument', `malformed version vector: ${why}`, {
    details: { field: 'version_vector' },
  });
}

// The sets as the simplest code would keep them, to compare with: adds make tags, removes kill the tags seen.
//
// A tag is a dot, as text; an element is its set and its member, as text. Copies are made freely.
import { type Dot, type StorageEntry, VersionVector } from '@syncline/kernel';
import { ribltHash } from '@syncline/riblt';
import { OrderHash, type OrderKeys } from '../../memory/order-hash.js';
import { encodeFold } from '../fold-record.js';
import { dotKey, elementKey, foldKey, setKey, versionKey } from '../storage-keys.js';
import { encodeCardinality, encodeDots, encodeElement } from '../storage-values.js';

export interface PlainElement {
  readonly set: string;
  readonly member: string;
}

export class PlainSets {
  readonly #dots = new Map<
    string,
    { readonly element: PlainElement; readonly dots: readonly Dot[] }
  >();
  version = new VersionVector();

  copy(): PlainSets {
    const copy = new PlainSets();
    for (const [key, value] of this.#dots) copy.#dots.set(key, value);
    copy.version = this.version.copy();
    return copy;
  }

  /** Sorted. */
  dotsOf(element: PlainElement): readonly Dot[] {
    return this.#dots.get(keyOf(element))?.dots ?? [];
  }

  has(element: PlainElement): boolean {
    return this.dotsOf(element).length > 0;
  }

  cardinality(set: string): number {
    return [...this.#dots.values()].filter(({ element }) => element.set === set).length;
  }

  write(element: PlainElement, dots: readonly Dot[]): void {
    const sorted = dots.toSorted((a, b) => a.actor - b.actor || a.counter - b.counter);
    if (dots.length === 0) this.#dots.delete(keyOf(element));
    else this.#dots.set(keyOf(element), { element, dots: sorted });
  }

  liveDots(): readonly Dot[] {
    return [...this.#dots.values()].flatMap(({ dots }) => dots);
  }

  setNames(): readonly string[] {
    return [...new Set([...this.#dots.values()].map(({ element }) => element.set))];
  }

  /** `liveDots:xor`, as a state shows it. */
  digest(keys: OrderKeys): string {
    const xor = this.#xor(keys);
    return `${this.liveDots().length}:${xor[0]}:${xor[1]}`;
  }

  /** What the storage holds once commits up to this number are folded, as lines of hexadecimal digits. */
  storageLines(keys: OrderKeys, number: number): readonly string[] {
    const entries: StorageEntry[] = [];
    for (const { element, dots } of this.#dots.values()) {
      const set = Buffer.from(element.set);
      const buffer = Buffer.from(element.member);
      const member = { buffer, start: 0, end: buffer.length };
      const key = elementKey(set, positionOf(keys, buffer), member);
      entries.push({ key, value: encodeDots(dots) });
      for (const { actor, counter } of dots) {
        entries.push({ key: dotKey(actor, 0, counter), value: encodeElement(set, member) });
      }
    }
    for (const set of this.setNames()) {
      const name = Buffer.from(set);
      const key = setKey(name, positionOf(keys, name));
      entries.push({ key, value: encodeCardinality(this.cardinality(set)) });
    }
    for (const { actor, counter } of this.version.entries()) {
      entries.push({ key: versionKey(actor), value: encodeCardinality(counter) });
    }
    const fold = {
      number,
      liveDots: this.liveDots().length,
      xor: this.#xor(keys),
      setsCount: this.setNames().length,
    };
    entries.push({ key: foldKey, value: encodeFold(fold) });
    return linesOf(entries);
  }

  #xor(keys: OrderKeys): readonly [number, number] {
    const hash = new Uint32Array(2);
    const xor = new Uint32Array(2);
    for (const { actor, counter } of this.liveDots()) {
      ribltHash(keys.riblt, [actor, 0, counter], hash);
      xor[0] = (xor[0] ?? 0) ^ (hash[0] ?? 0);
      xor[1] = (xor[1] ?? 0) ^ (hash[1] ?? 0);
    }
    return [xor[0] ?? 0, xor[1] ?? 0];
  }
}

/** Sorted, so that two stores can be compared. */
export function linesOf(entries: readonly StorageEntry[]): readonly string[] {
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
  return entries.map(({ key, value }) => `${hex(key)} ${hex(value)}`).toSorted();
}

function keyOf({ set, member }: PlainElement): string {
  return `${set}/${member}`;
}

function positionOf(keys: OrderKeys, bytes: Buffer): { high: number; low: number } {
  const words = new Uint32Array(2);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  new OrderHash(keys.order).write(view, 0, bytes.length, words);
  return { high: words[0] ?? 0, low: words[1] ?? 0 };
}

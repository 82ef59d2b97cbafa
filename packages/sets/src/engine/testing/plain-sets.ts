// The sets as the simplest code would keep them, to compare with: adds make tags, removes kill the tags seen.
import { type Dot, formatDot, VersionVector } from '@syncline/kernel';
import { ribltHash } from '@syncline/riblt';
import type { OrderKeys } from '../../memory/order-hash.js';

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

  dotsOf(element: PlainElement): readonly Dot[] {
    return this.#dots.get(keyOf(element))?.dots ?? [];
  }

  has(element: PlainElement): boolean {
    return this.dotsOf(element).length > 0;
  }

  members(set: string): readonly string[] {
    const all = [...this.#dots.values()].filter(({ element }) => element.set === set);
    return all.map(({ element }) => element.member).toSorted();
  }

  write(element: PlainElement, dots: readonly Dot[]): void {
    if (dots.length === 0) this.#dots.delete(keyOf(element));
    else this.#dots.set(keyOf(element), { element, dots });
  }

  /** Every live dot with its element, as sorted lines. */
  lines(): readonly string[] {
    return [...this.#dots.values()]
      .flatMap(({ element, dots }) => dots.map((dot) => `${keyOf(element)} ${formatDot(dot)}`))
      .toSorted();
  }

  setNames(): readonly string[] {
    return [...new Set([...this.#dots.values()].map(({ element }) => element.set))];
  }

  /** `liveDots:xor:xor`. */
  digest(keys: OrderKeys): string {
    const hash = new Uint32Array(2);
    const xor = new Uint32Array(2);
    const dots = [...this.#dots.values()].flatMap((entry) => entry.dots);
    for (const { actor, counter } of dots) {
      ribltHash(keys.riblt, [actor, 0, counter], hash);
      xor[0] = (xor[0] ?? 0) ^ (hash[0] ?? 0);
      xor[1] = (xor[1] ?? 0) ^ (hash[1] ?? 0);
    }
    return `${dots.length}:${xor[0]}:${xor[1]}`;
  }
}

export function keyOf({ set, member }: PlainElement): string {
  return `${set}/${member}`;
}

// A minimal implementation of the sets, to compare with: adds make tags, removes kill the tags seen.
import { type Dot, formatDot, VersionVector } from '@syncline/kernel';
import { ribltHash } from '@syncline/riblt';
import type { OrderKeys } from '../../memory/order-hash.js';
import type { PlainOperation } from '../../testing/plain-operation.js';

export interface PlainElement {
  readonly set: string;
  readonly member: string;
}

type Members = Map<string, readonly Dot[]>;

export class PlainSets {
  readonly #sets = new Map<string, Members>();
  /** Sets whose members no copy shares. */
  readonly #owned = new Set<string>();
  version = new VersionVector();

  /** Cheap: the members of a set are shared until one of the two copies changes them. */
  copy(): PlainSets {
    const copy = new PlainSets();
    for (const [set, members] of this.#sets) copy.#sets.set(set, members);
    this.#owned.clear();
    copy.version = this.version.copy();
    return copy;
  }

  dotsOf({ set, member }: PlainElement): readonly Dot[] {
    return this.#sets.get(set)?.get(member) ?? [];
  }

  has(element: PlainElement): boolean {
    return this.dotsOf(element).length > 0;
  }

  members(set: string): readonly string[] {
    return [...(this.#sets.get(set)?.keys() ?? [])].toSorted();
  }

  write({ set, member }: PlainElement, dots: readonly Dot[]): void {
    const members = this.#own(set);
    if (dots.length > 0) members.set(member, dots);
    else members.delete(member);
    if (members.size === 0) this.#sets.delete(set);
  }

  /** The elements of the operation lose the dots that it drops; those that it adds get a new one. */
  apply({ actor, base, count, added, removed, dropped }: PlainOperation): void {
    const gone = new Set(dropped);
    const keptDots = (element: PlainElement) =>
      this.dotsOf(element).filter((dot) => !gone.has(formatDot(dot)));
    for (const [set, member] of removed) this.write({ set, member }, keptDots({ set, member }));
    for (const [set, member, counter] of added)
      this.write({ set, member }, [...keptDots({ set, member }), { actor, counter }]);
    this.version.advance(actor, base + count - 1);
  }

  /** Every live dot with its element, as sorted lines. */
  lines(): readonly string[] {
    return this.#elements()
      .flatMap(([element, dots]) => dots.map((dot) => `${keyOf(element)} ${formatDot(dot)}`))
      .toSorted();
  }

  setNames(): readonly string[] {
    return [...this.#sets.keys()];
  }

  /** `liveDots:xor:xor`. */
  digest(keys: OrderKeys): string {
    const hash = new Uint32Array(2);
    const xor = new Uint32Array(2);
    const dots = this.#elements().flatMap(([, each]) => each);
    for (const { actor, counter } of dots) {
      ribltHash(keys.riblt, [actor, Math.floor(counter / 2 ** 32), counter], hash);
      xor[0] = (xor[0] ?? 0) ^ (hash[0] ?? 0);
      xor[1] = (xor[1] ?? 0) ^ (hash[1] ?? 0);
    }
    return `${dots.length}:${xor[0]}:${xor[1]}`;
  }

  #own(set: string): Members {
    const members = this.#sets.get(set);
    if (members !== undefined && this.#owned.has(set)) return members;
    const own: Members = new Map(members);
    this.#sets.set(set, own);
    this.#owned.add(set);
    return own;
  }

  #elements(): readonly (readonly [PlainElement, readonly Dot[]])[] {
    return [...this.#sets].flatMap(([set, members]) =>
      Array.from(members, ([member, dots]) => [{ set, member }, dots] as const),
    );
  }
}

export function keyOf({ set, member }: PlainElement): string {
  return `${set}/${member}`;
}

// The dots of an element, as three words of its row: those of its one dot, or where several are kept.
//
// One node alone makes one dot per element. Two that add the same member at the same time make two, and
// both are kept until somebody who has seen them removes or adds it again. Several are rare, so they lie
// in a list on the side. The words are copied into the head and the undo log, so a list counts who names it.
//
// Actors of node 0 do not exist, so numbers below 65,536 are free to mean something else.
import { type ActorId, assert, compareDots, type Dot, dot } from '@syncline/kernel';

/** In the place of an actor: the element has no dot, it is absent. */
export const NO_DOT = 0;
/** In the place of an actor: the element has several dots; the word of the low counter says where. */
export const SEVERAL_DOTS = 1;

/** Three words of a row, or a copy of them. */
export interface DotWords {
  actor: number;
  high: number;
  low: number;
}

export class SeveralDots {
  readonly #lists: (readonly Dot[])[] = [];
  readonly #holders: number[] = [];
  readonly #free: number[] = [];

  /** Lists in use. */
  get size(): number {
    return this.#lists.length - this.#free.length;
  }

  /** The dots that the words stand for, sorted. */
  read(words: DotWords): readonly Dot[] {
    if (words.actor === NO_DOT) return [];
    if (words.actor === SEVERAL_DOTS) return this.#lists[words.low] ?? [];
    return [dotOf(words.actor, words.high, words.low)];
  }

  /** Words for these dots. Whoever keeps the words holds the list, if there is one. */
  write(dots: readonly Dot[], into: DotWords): void {
    const [first] = dots;
    into.actor = NO_DOT;
    into.high = 0;
    into.low = 0;
    if (first === undefined) return;
    if (dots.length === 1) {
      into.actor = first.actor | 0;
      into.high = Math.floor(first.counter / 2 ** 32);
      into.low = first.counter | 0;
      return;
    }
    into.actor = SEVERAL_DOTS;
    into.low = this.#add(dots.toSorted(compareDots));
  }

  /** One more copy of the words is kept. */
  hold(actor: number, low: number): void {
    if (actor === SEVERAL_DOTS) this.#holders[low] = (this.#holders[low] ?? 0) + 1;
  }

  /** A copy of the words is forgotten. */
  release(actor: number, low: number): void {
    if (actor !== SEVERAL_DOTS) return;
    const holders = (this.#holders[low] ?? 0) - 1;
    assert(holders >= 0, 'a list of dots is not released more often than it was held');
    this.#holders[low] = holders;
    if (holders > 0) return;
    this.#lists[low] = [];
    this.#free.push(low);
  }

  #add(dots: readonly Dot[]): number {
    const index = this.#free.pop() ?? this.#lists.length;
    this.#lists[index] = dots;
    this.#holders[index] = 1;
    return index;
  }
}

/** Words may be signed, as rows hold them. */
function dotOf(actor: number, high: number, low: number): Dot {
  return dot((actor >>> 0) as ActorId, (high >>> 0) * 2 ** 32 + (low >>> 0));
}

// A set of dots as bitmaps: per actor, pages of 512 counters. Counters of live dots are close together, so a dot
// takes a few bits, and runs of them are written and removed a page at a time.
//
// As a listing it is written per actor: the actor, the number of runs, then for each run the gap since the previous
// run and its length, all as varints.
import type { ActorId } from '@syncline/kernel';

const PAGE_DOTS = 512;
const PAGE_WORDS = PAGE_DOTS / 32;

type Pages = Map<number, Uint32Array>;

export class DotSet {
  readonly #actors = new Map<number, Pages>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** False if it was already there. */
  add(actor: number, counter: number): boolean {
    const pages = this.#actors.get(actor) ?? new Map<number, Uint32Array>();
    if (pages.size === 0) this.#actors.set(actor, pages);
    const number = Math.floor(counter / PAGE_DOTS);
    const page = pages.get(number) ?? new Uint32Array(PAGE_WORDS);
    const bit = counter - number * PAGE_DOTS;
    const word = page[bit >>> 5] ?? 0;
    const mask = 1 << (bit & 31);
    if ((word & mask) !== 0) return false;
    page[bit >>> 5] = word | mask;
    pages.set(number, page);
    this.#size += 1;
    return true;
  }

  has(actor: number, counter: number): boolean {
    const number = Math.floor(counter / PAGE_DOTS);
    const page = this.#actors.get(actor)?.get(number);
    const bit = counter - number * PAGE_DOTS;
    return page !== undefined && ((page[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0;
  }

  delete(actor: number, counter: number): boolean {
    if (!this.has(actor, counter)) return false;
    const number = Math.floor(counter / PAGE_DOTS);
    const page = this.#actors.get(actor)?.get(number);
    const bit = counter - number * PAGE_DOTS;
    if (page !== undefined) page[bit >>> 5] = (page[bit >>> 5] ?? 0) & ~(1 << (bit & 31));
    this.#size -= 1;
    return true;
  }

  /**
   * Deletes `length` counters from `from` on, any of which may be absent. Takes time proportional to the size of the
   * set at most.
   */
  deleteRun(actor: number, from: number, length: number): void {
    const pages = this.#actors.get(actor);
    if (pages === undefined) return;
    const first = Math.floor(from / PAGE_DOTS);
    const last = Math.floor((from + length - 1) / PAGE_DOTS);
    const numbers = last - first < pages.size ? between(first, last) : [...pages.keys()];
    for (const number of numbers) {
      if (number < first || number > last || !pages.has(number)) continue;
      const start = Math.max(from, number * PAGE_DOTS);
      const end = Math.min(from + length, (number + 1) * PAGE_DOTS);
      for (let counter = start; counter < end; counter += 1) this.delete(actor, counter);
    }
  }

  /** Actors, lowest first. */
  actors(): readonly ActorId[] {
    return [...this.#actors.keys()].sort((a, b) => a - b) as ActorId[];
  }

  /** Runs of consecutive counters of an actor, lowest first. */
  *runs(actor: ActorId): Generator<{ readonly from: number; readonly length: number }> {
    const pages = this.#actors.get(actor) ?? (new Map() as Pages);
    let from = 0;
    let length = 0;
    for (const number of [...pages.keys()].sort((a, b) => a - b)) {
      const page = pages.get(number) as Uint32Array;
      for (let bit = 0; bit < PAGE_DOTS; bit += 1) {
        if (((page[bit >>> 5] ?? 0) & (1 << (bit & 31))) === 0) continue;
        const counter = number * PAGE_DOTS + bit;
        if (length > 0 && counter === from + length) {
          length += 1;
          continue;
        }
        if (length > 0) yield { from, length };
        from = counter;
        length = 1;
      }
    }
    if (length > 0) yield { from, length };
  }
}

function between(first: number, last: number): readonly number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

// What the changes of one commit replaced, in order: the dots that each element had before.
//
// It is also the list of what the running operation has changed: an element is in it once per operation,
// at its first change. So the words of a row before an operation are at hand when its net effect is known.
import { ROW_ACTOR, ROW_COUNTER_HIGH, ROW_COUNTER_LOW } from '../memory/row-layout.js';
import type { MemorySet } from './memory-set.js';

/** Set, row, and the three words of its dots. */
const WORDS = 5;
const ENTRIES_FIRST = 1_024;
const ENTRIES_KEPT = 65_536; // after a larger commit its memory is given back

export class UndoLog {
  #words = new Int32Array(ENTRIES_FIRST * WORDS);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Gives the place of the entry. The words of the row lie in its page at `start`. */
  push(set: MemorySet, row: number, page: Int32Array, start: number): number {
    const place = this.#length;
    if ((place + 1) * WORDS > this.#words.length) this.#grow();
    const words = this.#words;
    const at = place * WORDS;
    words[at] = set.slot;
    words[at + 1] = row;
    words[at + 2] = page[start + ROW_ACTOR] as number;
    words[at + 3] = page[start + ROW_COUNTER_HIGH] as number;
    words[at + 4] = page[start + ROW_COUNTER_LOW] as number;
    this.#length = place + 1;
    return place;
  }

  slot(place: number): number {
    return this.#words[place * WORDS] as number;
  }

  row(place: number): number {
    return this.#words[place * WORDS + 1] as number;
  }

  actor(place: number): number {
    return this.#words[place * WORDS + 2] as number;
  }

  high(place: number): number {
    return this.#words[place * WORDS + 3] as number;
  }

  low(place: number): number {
    return this.#words[place * WORDS + 4] as number;
  }

  /** Forgets what lies at this place and behind it. */
  truncate(length: number): void {
    this.#length = length;
    if (length === 0 && this.#words.length > ENTRIES_KEPT * WORDS) {
      this.#words = new Int32Array(ENTRIES_FIRST * WORDS);
    }
  }

  #grow(): void {
    const words = new Int32Array(this.#words.length * 2);
    words.set(this.#words);
    this.#words = words;
  }
}

// Elements that were dropped or added since one moment, with copies of their members and one dot each.
//
// The list may hold a million elements, so it grows in parts and is never copied as a whole, which would block the
// event loop. An undone turn removes its entries.
import type { Dot } from '@syncline/kernel';
import { copyBytes } from '../byte-list.js';
import type { ElementHeap } from '../memory/element-heap.js';
import { memberBuffer, memberEnd, memberStart } from '../memory/element-row.js';
import type { SetEntry } from './set-table.js';

/** Words of an entry: its set, where its member is, its dot, and the walk that had passed it. */
const ENTRY_WORDS = 8;
/** Entries of one part; a short list has a smaller part. */
const PART_ENTRIES = 4_096;
const PART_BYTES = 256 * 1024;
const FIRST_ENTRIES = 16;

export class ElementList {
  readonly #sets: SetEntry[] = [];
  readonly #setNumbers = new Map<SetEntry, number>();
  readonly #entries: Int32Array[] = [];
  readonly #members: Uint8Array[] = [];
  /** Of the last part of the members. */
  #bytesUsed = 0;
  length = 0;
  memoryBytes = 0;
  #settled = { length: 0, parts: 0, bytesUsed: 0 };

  /** `passedIn`: the number of a walk that had passed the element. */
  push(set: SetEntry, heap: ElementHeap, row: number, dot: Dot, passedIn = 0): void {
    const end = memberEnd(heap, row);
    this.#push(set, memberBuffer(heap, row), memberStart(row), end, dot, passedIn);
  }

  pushFrom(list: ElementList, index: number): void {
    const member = list.memberAt(index);
    this.#push(list.setAt(index), member, 0, member.length, list.dotAt(index), 0);
  }

  settle(): void {
    const { length } = this.#members;
    this.#settled = { length: this.length, parts: length, bytesUsed: this.#bytesUsed };
  }

  undo(): void {
    const { length, parts, bytesUsed } = this.#settled;
    this.length = length;
    for (const part of this.#members.splice(parts)) this.memoryBytes -= part.length;
    this.#bytesUsed = bytesUsed;
  }

  setAt(index: number): SetEntry {
    return this.#sets[this.#word(index, 0)] as SetEntry;
  }

  /** A view of the member, valid until its entry is removed. */
  memberAt(index: number): Uint8Array {
    const part = this.#members[this.#word(index, 1)] as Uint8Array;
    return part.subarray(this.#word(index, 2), this.#word(index, 3));
  }

  dotAt(index: number): Dot {
    const actor = (this.#word(index, 4) >>> 0) as Dot['actor'];
    return { actor, counter: this.#word(index, 5) * 2 ** 32 + (this.#word(index, 6) >>> 0) };
  }

  passedIn(index: number): number {
    return this.#word(index, 7);
  }

  #word(index: number, word: number): number {
    const part = this.#entries[Math.floor(index / PART_ENTRIES)] as Int32Array;
    return part[(index % PART_ENTRIES) * ENTRY_WORDS + word] as number;
  }

  #push(
    set: SetEntry,
    from: Uint8Array,
    start: number,
    end: number,
    dot: Dot,
    passedIn: number,
  ): void {
    const entries = this.#roomForEntry();
    const members = this.#roomFor(end - start);
    copyBytes(from, start, end, members, this.#bytesUsed);
    const at = (this.length % PART_ENTRIES) * ENTRY_WORDS;
    entries[at] = this.#setNumber(set);
    entries[at + 1] = this.#members.length - 1;
    entries[at + 2] = this.#bytesUsed;
    entries[at + 3] = this.#bytesUsed + end - start;
    entries[at + 4] = dot.actor;
    entries[at + 5] = Math.floor(dot.counter / 2 ** 32);
    entries[at + 6] = dot.counter | 0;
    entries[at + 7] = passedIn;
    this.#bytesUsed += end - start;
    this.length += 1;
  }

  #setNumber(set: SetEntry): number {
    let number = this.#setNumbers.get(set);
    if (number === undefined) {
      number = this.#sets.push(set) - 1;
      this.#setNumbers.set(set, number);
    }
    return number;
  }

  #roomForEntry(): Int32Array {
    const index = Math.floor(this.length / PART_ENTRIES);
    const part = this.#entries[index];
    if (part !== undefined && (this.length % PART_ENTRIES) * ENTRY_WORDS < part.length) return part;
    const entries = Math.min(PART_ENTRIES, Math.max(FIRST_ENTRIES, this.length * 2));
    const larger = new Int32Array(entries * ENTRY_WORDS);
    if (part !== undefined) larger.set(part);
    this.memoryBytes += larger.byteLength - (part?.byteLength ?? 0);
    this.#entries[index] = larger;
    return larger;
  }

  #roomFor(bytes: number): Uint8Array {
    const last = this.#members.at(-1);
    if (last !== undefined && this.#bytesUsed + bytes <= last.length) return last;
    const part = new Uint8Array(Math.max(bytes, Math.min(PART_BYTES, 2 * (last?.length ?? 0))));
    this.memoryBytes += part.length;
    this.#members.push(part);
    this.#bytesUsed = 0;
    return part;
  }
}

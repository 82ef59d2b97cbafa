// Finds the row of a member: in the table of its set, or else in the storage.
//
// S16  At most one read of the storage per member, and none when the set is whole.
import { assert, DOT_BYTES, type StorageEntry, type StorageReads } from '@syncline/kernel';
import type { ByteList } from '../byte-list.js';
import type { ElementHeap } from '../memory/element-heap.js';
import type { OrderHash } from '../memory/order-hash.js';
import {
  ROW_ACTOR,
  ROW_COUNTER_HIGH,
  ROW_COUNTER_LOW,
  ROW_HEAD,
  readWord,
  writeWord,
} from '../memory/row-layout.js';
import type { AppliedVersion } from './applied-version.js';
import type { MemorySet } from './memory-set.js';
import { NO_DOT, type SeveralDots } from './row-dots.js';
import {
  elementKey,
  elementMemberStart,
  elementPositionStart,
  readPosition,
} from './storage-keys.js';
import { decodeDots } from './storage-values.js';

export interface ElementRowsDeps {
  readonly storage: Pick<StorageReads, 'get'>;
  readonly heap: ElementHeap;
  readonly hash: OrderHash;
  readonly several: SeveralDots;
  readonly version: AppliedVersion;
}

export class ElementRows {
  readonly #deps: ElementRowsDeps;
  readonly #position = new Uint32Array(2);
  readonly #words = { actor: 0, high: 0, low: 0 };

  constructor(deps: ElementRowsDeps) {
    this.#deps = deps;
  }

  isPresent(set: MemorySet, list: ByteList, index: number): boolean {
    const row = this.#find(set, list, index);
    if (row !== 0) return readWord(this.#deps.heap, row, ROW_ACTOR) !== NO_DOT;
    return !set.isWhole && this.#read(set, list, index) !== undefined;
  }

  /** The row of a member that may be present; 0 when it is surely absent. */
  findPresent(set: MemorySet, list: ByteList, index: number): number {
    const row = this.#find(set, list, index);
    if (row !== 0 || set.isWhole) return row;
    const value = this.#read(set, list, index);
    return value === undefined ? 0 : this.#insert(set, list, index, value);
  }

  /** The row of a member; a new one if there is none. */
  findOrInsert(set: MemorySet, list: ByteList, index: number): number {
    const row = this.#find(set, list, index);
    if (row !== 0) return row;
    if (set.isWhole) return set.table.insert(this.#position, list, index);
    return this.#insert(set, list, index, this.#read(set, list, index));
  }

  /** Adds an element as a snapshot has it, unless something newer is known. */
  load(set: MemorySet, { key, value }: StorageEntry): void {
    const start = elementMemberStart(set.name);
    const { high, low } = readPosition(key, elementPositionStart(set.name));
    this.#position[0] = high;
    this.#position[1] = low;
    const view = new DataView(key.buffer, key.byteOffset, key.byteLength);
    if (set.table.findBytes(this.#position, view, start, key.length) !== 0) return;
    const row = set.table.insertBytes(this.#position, view, start, key.length);
    this.#writeDots(row, value);
  }

  /** Storage and memory agree on this row, and nothing names it: keeps it only where it is of use. */
  settle(set: MemorySet, row: number): void {
    const isAbsent = readWord(this.#deps.heap, row, ROW_ACTOR) === NO_DOT;
    if (set.isWhole && !isAbsent) return;
    if (!set.isLoading) {
      this.drop(set, row);
    } else if (isAbsent) {
      // The snapshot that is being loaded may still have it.
      set.absentRows ??= new Set();
      set.absentRows.add(row);
    }
  }

  /** Frees a row that nothing names. */
  drop(set: MemorySet, row: number): void {
    const { heap, several } = this.#deps;
    assert(readWord(heap, row, ROW_HEAD) === 0, 'a row in the head stays');
    several.release(readWord(heap, row, ROW_ACTOR), readWord(heap, row, ROW_COUNTER_LOW));
    set.table.delete(row);
  }

  #find(set: MemorySet, list: ByteList, index: number): number {
    this.#deps.hash.write(list.view, list.start(index), list.end(index), this.#position);
    return set.table.find(this.#position, list, index);
  }

  /** The stored dots of the member whose position was just computed. */
  #read(set: MemorySet, list: ByteList, index: number): Uint8Array | undefined {
    const position = { high: this.#position[0] ?? 0, low: this.#position[1] ?? 0 };
    const member = { buffer: list.buffer, start: list.start(index), end: list.end(index) };
    return this.#deps.storage.get(elementKey(set.name, position, member));
  }

  #insert(set: MemorySet, list: ByteList, index: number, value: Uint8Array | undefined): number {
    const row = set.table.insert(this.#position, list, index);
    if (value !== undefined) this.#writeDots(row, value);
    return row;
  }

  #writeDots(row: number, value: Uint8Array): void {
    const { heap, several, version } = this.#deps;
    const dots = decodeDots(value);
    for (const { actor, counter } of dots) {
      assert(counter <= version.counterOf(actor), 'S4: a stored dot is covered');
    }
    assert(value.length >= DOT_BYTES, 'a stored element has a dot');
    several.write(dots, this.#words);
    writeWord(heap, row, ROW_ACTOR, this.#words.actor);
    writeWord(heap, row, ROW_COUNTER_HIGH, this.#words.high);
    writeWord(heap, row, ROW_COUNTER_LOW, this.#words.low);
  }
}

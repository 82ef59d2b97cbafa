// Name to set in memory, and the order in which sets were used.
//
// Runs of commands on one set are common, so the last one is looked at first. The others are found through
// a table of the same kind as holds members: it grows without ever standing still.
import { assert } from '@syncline/kernel';
import { ByteList } from '../byte-list.js';
import type { ElementHeap } from '../memory/element-heap.js';
import { MemberTable } from '../memory/member-table.js';
import type { OrderHash } from '../memory/order-hash.js';
import { ROW_ACTOR, readWord, writeWord } from '../memory/row-layout.js';
import { MemorySet } from './memory-set.js';

export interface SetRegistryDeps {
  readonly heap: ElementHeap;
  readonly hash: OrderHash;
}

export class SetRegistry {
  readonly #deps: SetRegistryDeps;
  readonly #names: MemberTable;
  readonly #position = new Uint32Array(2);
  /** By slot; slot 0 is no set. */
  readonly #sets: (MemorySet | undefined)[] = [undefined];
  readonly #freeSlots: number[] = [];
  #nameBytes = 0;
  #newest: MemorySet | undefined = undefined;
  #oldest: MemorySet | undefined = undefined;

  constructor(deps: SetRegistryDeps) {
    this.#deps = deps;
    this.#names = new MemberTable(deps.heap);
  }

  /** Sets in memory. */
  get size(): number {
    return this.#names.size;
  }

  /** Bytes of the names, which are kept beside the rows that find them. */
  get nameBytes(): number {
    return this.#nameBytes;
  }

  /** False once it was forgotten, even if the name has come back as another set. */
  holds(set: MemorySet): boolean {
    return this.#sets[set.slot] === set;
  }

  /** The one not used for longest; go on by `newer`. */
  get oldest(): MemorySet | undefined {
    return this.#oldest;
  }

  /** Undefined when it is not in memory. Counts as use. */
  find(list: ByteList, index: number): MemorySet | undefined {
    const newest = this.#newest;
    if (newest !== undefined && isNamed(newest, list, index)) return newest;
    const row = this.#names.find(this.#locate(list, index), list, index);
    if (row === 0) return undefined;
    const set = this.at(readWord(this.#deps.heap, row, ROW_ACTOR));
    this.#unlink(set);
    this.#link(set);
    return set;
  }

  /** The set of a slot, which must be in memory. */
  at(slot: number): MemorySet {
    const set = this.#sets[slot];
    assert(set !== undefined, 'a set that is named in a list is in memory');
    return set;
  }

  /** Sets in memory by the position of their names, as `MemberTable.scan` gives rows. Counts as no use. */
  scan(position: number, count: number, visit: (set: MemorySet) => void): number {
    return this.#names.scan(position, count, (row) => {
      visit(this.at(readWord(this.#deps.heap, row, ROW_ACTOR)));
    });
  }

  /** Adds a set that is not in memory. */
  add(list: ByteList, index: number, cardinality: number): MemorySet {
    const words = this.#locate(list, index);
    const row = this.#names.insert(words, list, index);
    const position = { high: words[0] ?? 0, low: words[1] ?? 0 };
    const table = new MemberTable(this.#deps.heap);
    const set = new MemorySet(list.bytes(index).slice(), position, cardinality, table);
    set.slot = this.#freeSlots.pop() ?? this.#sets.length;
    this.#sets[set.slot] = set;
    this.#nameBytes += set.name.length;
    writeWord(this.#deps.heap, row, ROW_ACTOR, set.slot);
    this.#link(set);
    return set;
  }

  /** Forgets a set that is clean and has no rows. */
  forget(set: MemorySet): void {
    assert(set.isClean && set.table.size === 0, 'a set is forgotten when nothing is left of it');
    assert(this.holds(set), 'a set is forgotten once');
    const list = ByteList.of(set.name);
    this.#names.delete(this.#names.find(this.#locate(list, 0), list, 0));
    this.#sets[set.slot] = undefined;
    this.#nameBytes -= set.name.length;
    this.#freeSlots.push(set.slot);
    this.#unlink(set);
    set.table.clear();
  }

  #locate(list: ByteList, index: number): Uint32Array {
    this.#deps.hash.write(list.view, list.start(index), list.end(index), this.#position);
    return this.#position;
  }

  #link(set: MemorySet): void {
    set.older = this.#newest;
    if (this.#newest === undefined) this.#oldest = set;
    else this.#newest.newer = set;
    this.#newest = set;
  }

  #unlink(set: MemorySet): void {
    if (set.older === undefined) this.#oldest = set.newer;
    else set.older.newer = set.newer;
    if (set.newer === undefined) this.#newest = set.older;
    else set.newer.older = set.older;
    set.older = undefined;
    set.newer = undefined;
  }
}

function isNamed({ name }: MemorySet, list: ByteList, index: number): boolean {
  const start = list.start(index);
  if (list.end(index) - start !== name.length) return false;
  const { buffer } = list;
  for (let at = 0; at < name.length; at += 1) {
    if (name[at] !== buffer[start + at]) return false;
  }
  return true;
}

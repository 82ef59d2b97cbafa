// All sets that have members, found by name.
//
// Names are kept in the same kind of table as members: it grows without a pause, scans in the order of h48 and draws
// at random. Runs of commands on one set are common, so the set of the last lookup is tried first. An entry exists
// while its set has rows or watchers; looking for an absent name creates none.
import { assert, type Random } from '@syncline/kernel';
import { ByteList } from '../byte-list.js';
import type { Watcher } from '../keyspace.js';
import type { ElementHeap } from '../memory/element-heap.js';
import { ROW_ACTOR, readWord, writeWord } from '../memory/element-row.js';
import { MemberTable } from '../memory/member-table.js';
import { type OrderHash, positionOf } from '../memory/order-hash.js';

/** The approximate cost of a set besides its rows, its index and its name: the objects below. */
const SET_OVERHEAD_BYTES = 400;

export class SetEntry {
  readonly name: Uint8Array;
  /** Its members, and the rows of members that this turn has removed. */
  readonly table: MemberTable;
  /** h48 of the name. */
  readonly position: number;
  /** Its number while it exists, for lists of numbers. */
  readonly slot: number;
  cardinality = 0;
  /** Touched when the visible members change. */
  watchers: Set<Watcher> | undefined = undefined;

  constructor(name: Uint8Array, position: number, slot: number, table: MemberTable) {
    this.name = name;
    this.position = position;
    this.slot = slot;
    this.table = table;
  }
}

export class SetTable {
  readonly #heap: ElementHeap;
  readonly #hash: OrderHash;
  readonly #names: MemberTable;
  readonly #position = new Uint32Array(2);
  /** By slot; slot 0 is no set. */
  readonly #sets: (SetEntry | undefined)[] = [undefined];
  readonly #freeSlots: number[] = [];
  readonly #watched = new Map<Watcher, Set<SetEntry>>();
  /** Watchers that were first touched in this turn. */
  readonly #touched = new Set<Watcher>();
  #last: SetEntry | undefined = undefined;
  /** Sets that have members. */
  filledCount = 0;
  #nameBytes = 0;

  constructor(heap: ElementHeap, hash: OrderHash) {
    this.#heap = heap;
    this.#hash = hash;
    this.#names = new MemberTable(heap);
  }

  /** Sets that exist, those without members included. */
  get size(): number {
    return this.#names.size;
  }

  get overheadBytes(): number {
    return this.#nameBytes + this.size * SET_OVERHEAD_BYTES;
  }

  find(list: ByteList, index: number): SetEntry | undefined {
    const last = this.#last;
    if (last !== undefined && isNamed(last, list, index)) return last;
    const row = this.#names.find(this.#locate(list, index), list, index);
    if (row === 0) return undefined;
    const set = this.at(readWord(this.#heap, row, ROW_ACTOR));
    this.#last = set;
    return set;
  }

  findOrCreate(list: ByteList, index: number): SetEntry {
    return this.find(list, index) ?? this.#create(list, index);
  }

  at(slot: number): SetEntry {
    const set = this.#sets[slot];
    assert(set !== undefined, 'a slot in a list belongs to a set that exists');
    return set;
  }

  /** Sets by the position of their names, as `MemberTable.scan` visits rows. */
  scan(position: number, count: number, visit: (set: SetEntry) => void): number {
    return this.#names.scan(position, count, (row) => {
      visit(this.at(readWord(this.#heap, row, ROW_ACTOR)));
    });
  }

  /** Uniform over all sets that exist. There must be one. */
  random(random: Random): SetEntry {
    return this.at(readWord(this.#heap, this.#names.randomRow(random), ROW_ACTOR));
  }

  memberAppeared(set: SetEntry): void {
    set.cardinality += 1;
    if (set.cardinality === 1) this.filledCount += 1;
    if (set.watchers !== undefined) this.#touch(set.watchers);
  }

  memberVanished(set: SetEntry): void {
    set.cardinality -= 1;
    if (set.cardinality === 0) this.filledCount -= 1;
    if (set.watchers !== undefined) this.#touch(set.watchers);
  }

  turnSettled(): void {
    this.#touched.clear();
  }

  /** How many watchers this turn has touched so far, for `untouch`. */
  get touchedCount(): number {
    return this.#touched.size;
  }

  /** The members are again as they were when `count` watchers had been touched. */
  untouch(count: number): void {
    if (this.#touched.size <= count) return;
    for (const watcher of [...this.#touched].slice(count)) {
      watcher.isTouched = false;
      this.#touched.delete(watcher);
    }
  }

  watch(watcher: Watcher, list: ByteList, index: number): void {
    const set = this.findOrCreate(list, index);
    set.watchers ??= new Set();
    set.watchers.add(watcher);
    const sets = this.#watched.get(watcher) ?? new Set();
    this.#watched.set(watcher, sets.add(set));
  }

  unwatch(watcher: Watcher): void {
    for (const set of this.#watched.get(watcher) ?? []) {
      set.watchers?.delete(watcher);
      if (set.watchers?.size === 0) set.watchers = undefined;
      this.forgetIfUnused(set);
    }
    this.#watched.delete(watcher);
    this.#touched.delete(watcher);
  }

  forgetIfUnused(set: SetEntry): void {
    if (set.table.size > 0 || set.watchers !== undefined || this.#sets[set.slot] !== set) return;
    const list = ByteList.of(set.name);
    const row = this.#names.find(this.#locate(list, 0), list, 0);
    assert(row !== 0, 'a set that exists has a name');
    this.#names.delete(row);
    this.#sets[set.slot] = undefined;
    this.#freeSlots.push(set.slot);
    this.#nameBytes -= set.name.length;
    if (this.#last === set) this.#last = undefined;
  }

  #touch(watchers: ReadonlySet<Watcher>): void {
    for (const watcher of watchers) {
      if (watcher.isTouched) continue;
      watcher.isTouched = true;
      this.#touched.add(watcher);
    }
  }

  #create(list: ByteList, index: number): SetEntry {
    const words = this.#locate(list, index);
    const row = this.#names.insert(words, list, index);
    const slot = this.#freeSlots.pop() ?? this.#sets.length;
    const name = new Uint8Array(list.bytes(index)); // slice of a Buffer would not copy
    const set = new SetEntry(name, positionOf(words), slot, new MemberTable(this.#heap));
    this.#sets[slot] = set;
    this.#nameBytes += name.length;
    writeWord(this.#heap, row, ROW_ACTOR, slot);
    this.#last = set;
    return set;
  }

  #locate(list: ByteList, index: number): Uint32Array {
    this.#hash.write(list.view, list.start(index), list.end(index), this.#position);
    return this.#position;
  }
}

function isNamed({ name }: SetEntry, list: ByteList, index: number): boolean {
  const start = list.start(index);
  if (list.end(index) - start !== name.length) return false;
  const { buffer } = list;
  for (let at = 0; at < name.length; at += 1) {
    if (name[at] !== buffer[start + at]) return false;
  }
  return true;
}

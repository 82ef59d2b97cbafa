// Some sets as they were at one moment, for commands that take longer than a turn.
//
// An element enters the list when it loses its last dot of that moment, whether the walk has passed it or not: the
// list also answers `has` and takes part in random draws. Each entry remembers whether it was passed, so that a
// walk shows every element once.
import { assert, type Dot, type Random, randomBelow } from '@syncline/kernel';
import { ByteList, copyBytes } from '../byte-list.js';
import type { Pin as KeyspacePin } from '../keyspace.js';
import type { ElementHeap } from '../memory/element-heap.js';
import {
  memberBuffer,
  memberEnd,
  memberStart,
  ROW_HASH_HIGH,
  ROW_MEMBER_BYTES,
  readWord,
} from '../memory/element-row.js';
import { ElementList } from './element-list.js';
import { Pin } from './pins.js';
import type { SetEntry } from './set-table.js';
import type { SetsState } from './sets-state.js';

const ROWS_PER_BATCH = 512;
const HASH_END = 2 ** 32;
/** Draws that may miss before the members are listed instead: by then the set has grown a thousandfold. */
const MISSES_MAX = 4_096;

export interface MemberPinDeps {
  readonly random: Random;
  /** Ends the turn: afterwards what is in memory is in the log, or was undone. */
  commitNow(): void;
  yieldIfOverBudget(): Promise<void> | undefined;
}

interface PinnedSet {
  readonly set: SetEntry;
  readonly cardinality: number;
  readonly dropped: ElementList;
  walkNumber: number;
  /** The walk has visited rows whose hash word is below this. */
  walkedHash: number;
  isWalked: boolean;
  /** Members of the list up to `indexedCount`, as text. */
  index: Set<string>;
  indexedCount: number;
}

export class MemberPin extends Pin implements KeyspacePin {
  readonly #deps: MemberPinDeps;
  readonly #byName = new Map<string, PinnedSet>();
  readonly #bySet = new Map<SetEntry, PinnedSet>();
  /** Sets of which this turn has dropped elements. */
  readonly #changed = new Set<PinnedSet>();
  entries = 0;
  bytes = 0;
  readonly #member = new ByteList(new Uint8Array(0));

  constructor(state: SetsState, deps: MemberPinDeps, names: readonly Uint8Array[]) {
    deps.commitNow();
    super(state);
    this.#deps = deps;
    for (const name of names) {
      const set = state.sets.find(ByteList.of(name), 0);
      if (set === undefined || this.#bySet.has(set)) continue;
      const pinned = {
        set,
        cardinality: set.cardinality,
        dropped: new ElementList(),
        walkNumber: 0,
        walkedHash: 0,
        isWalked: false,
        index: new Set<string>(),
        indexedCount: 0,
      };
      this.#byName.set(textOf(name), pinned);
      this.#bySet.set(set, pinned);
    }
  }

  cardinality(set: Uint8Array): number {
    this.checkWhole();
    return this.#byName.get(textOf(set))?.cardinality ?? 0;
  }

  has(set: Uint8Array, member: Uint8Array): boolean {
    this.checkWhole();
    const pinned = this.#byName.get(textOf(set));
    if (pinned === undefined) return false;
    this.#member.reset(member);
    this.#member.push(0, member.length);
    const row = this.state.find(pinned.set, this.#member, 0);
    if (row !== 0 && this.coversRow(row)) return true;
    return pinned.dropped.length > 0 && indexOf(pinned).has(textOf(member));
  }

  async *members(set: Uint8Array): AsyncGenerator<readonly Uint8Array[], void, undefined> {
    this.checkWhole();
    const pinned = this.#byName.get(textOf(set));
    if (pinned === undefined) return;
    assert(
      !pinned.isWalked,
      'one walk over a pinned set at a time: what it has passed is remembered once',
    );
    pinned.isWalked = true;
    try {
      yield* this.#walk(pinned);
    } finally {
      pinned.isWalked = false;
    }
  }

  async *#walk(pinned: PinnedSet): AsyncGenerator<readonly Uint8Array[], void, undefined> {
    const { heap } = this.state;
    pinned.walkedHash = 0;
    pinned.walkNumber += 1;
    while (pinned.walkedHash < HASH_END) {
      this.#deps.commitNow();
      this.checkWhole();
      const rows: number[] = [];
      pinned.walkedHash = pinned.set.table.walk(pinned.walkedHash, ROWS_PER_BATCH, (row) => {
        if (this.coversRow(row)) rows.push(row);
      });
      yield membersOf(heap, rows);
      const pause = this.#deps.yieldIfOverBudget();
      if (pause !== undefined) await pause;
    }
    const { dropped, walkNumber } = pinned;
    for (let from = 0; from < dropped.length; from += ROWS_PER_BATCH) {
      this.checkWhole();
      const batch: Uint8Array[] = [];
      const end = Math.min(dropped.length, from + ROWS_PER_BATCH);
      for (let entry = from; entry < end; entry += 1)
        if (dropped.passedIn(entry) !== walkNumber) batch.push(dropped.memberAt(entry));
      yield batch;
      const pause = this.#deps.yieldIfOverBudget();
      if (pause !== undefined) await pause;
    }
  }

  randomMember(set: Uint8Array): Uint8Array {
    this.checkWhole();
    const pinned = this.#byName.get(textOf(set));
    if (pinned === undefined || pinned.cardinality === 0)
      throw new RangeError('a set without members has no random member');
    const { random } = this.#deps;
    const { table } = pinned.set;
    for (let misses = 0; misses < MISSES_MAX; misses += 1) {
      const draw = randomBelow(random, table.size + pinned.dropped.length);
      if (draw >= table.size) return pinned.dropped.memberAt(draw - table.size).slice();
      const row = table.randomRow(random);
      if (this.coversRow(row)) return this.#memberOf(row);
    }
    return this.#listedMember(pinned);
  }

  dropped(set: SetEntry, row: number, before: readonly Dot[], after: readonly Dot[]): void {
    const pinned = this.#bySet.get(set);
    if (pinned === undefined) return;
    const isInPin = ({ actor, counter }: Dot) => this.covers(actor, counter);
    const dot = before.find(isInPin);
    if (dot === undefined || after.some(isInPin)) return;
    const { heap } = this.state;
    const isPassed = readWord(heap, row, ROW_HASH_HIGH) >>> 0 < pinned.walkedHash;
    const bytesBefore = pinned.dropped.memoryBytes;
    pinned.dropped.push(set, heap, row, dot, isPassed ? pinned.walkNumber : 0);
    this.entries += 1;
    this.bytes += pinned.dropped.memoryBytes - bytesBefore;
    this.#changed.add(pinned);
  }

  turnSettled(): void {
    if (this.#changed.size === 0) return;
    for (const { dropped } of this.#changed) dropped.settle();
    this.#changed.clear();
  }

  turnUndone(): void {
    for (const pinned of this.#changed) {
      const { length, memoryBytes } = pinned.dropped;
      pinned.dropped.undo();
      this.entries -= length - pinned.dropped.length;
      this.bytes -= memoryBytes - pinned.dropped.memoryBytes;
      if (pinned.indexedCount <= pinned.dropped.length) continue;
      pinned.index = new Set();
      pinned.indexedCount = 0;
    }
    this.#changed.clear();
  }

  free(): void {
    this.entries = 0;
    this.bytes = 0;
    this.#changed.clear();
    this.#bySet.clear();
    this.#byName.clear();
  }

  #memberOf(row: number): Uint8Array {
    const { heap } = this.state;
    return memberBuffer(heap, row).slice(memberStart(row), memberEnd(heap, row));
  }

  #listedMember({ set, dropped, cardinality }: PinnedSet): Uint8Array {
    let left = randomBelow(this.#deps.random, cardinality) - dropped.length;
    if (left < 0) return dropped.memberAt(left + dropped.length).slice();
    let found = 0;
    set.table.forEach((row) => {
      if (found === 0 && this.coversRow(row) && left-- === 0) found = row;
    });
    return this.#memberOf(found);
  }
}

/** Copies the members of these rows into one block of memory: hundreds of small ones take long to free. */
function membersOf(heap: ElementHeap, rows: readonly number[]): readonly Uint8Array[] {
  let bytes = 0;
  for (const row of rows) bytes += readWord(heap, row, ROW_MEMBER_BYTES);
  const members = new Uint8Array(bytes);
  let at = 0;
  return rows.map((row) => {
    const start = at;
    at += readWord(heap, row, ROW_MEMBER_BYTES);
    copyBytes(memberBuffer(heap, row), memberStart(row), memberEnd(heap, row), members, start);
    return members.subarray(start, at);
  });
}

function indexOf(pinned: PinnedSet): ReadonlySet<string> {
  for (; pinned.indexedCount < pinned.dropped.length; pinned.indexedCount += 1)
    pinned.index.add(textOf(pinned.dropped.memberAt(pinned.indexedCount)));
  return pinned.index;
}

/** One character per byte, so that different bytes give different texts. */
function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

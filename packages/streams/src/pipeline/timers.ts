// The timers of one operator: ordinary state, plus a heap that knows which timer is next.
//
// The state holds the event timers and clock timers of each key. The heap is derived from it and may be stale: a timer
// in the heap only counts if it is still in the state. So timers that are deleted, or undone with their item, need not
// be searched for in the heap. Once stale entries outnumber the others, the heap is derived again: a timeout that each
// item moves would otherwise leave an entry per item until it is due.
//
// X32  A timer fires once, in the epoch in which it is removed, in the order (time, key group, key bytes).
import { SynclineError } from '@syncline/kernel';
import { streamsLimits } from '../limits.js';
import { ByteReader } from '../snapshot/byte-reader.js';
import { ByteWriter } from '../snapshot/byte-writer.js';
import type { Codec } from '../state/codec.js';
import { compareKeys, groupOf, type Key } from '../state/key.js';
import { badRecord } from '../state/state-error.js';
import type { AnyCells } from '../store/pipeline-states.js';
import { Heap } from './heap.js';

export const TIMERS = '~timers';

/** Times in ms, each list in ascending order. */
export interface KeyTimers {
  readonly event: readonly number[];
  readonly clock: readonly number[];
}

export type TimerKind = keyof KeyTimers;

/** A timer in the heap. */
export interface DueTimer {
  readonly atMs: number;
  readonly group: number;
  readonly key: Key;
}

/** So many stale entries are never worth the work of removing them. */
const STALE_MIN = 1_000;

const writer = new ByteWriter();

export const timersCodec: Codec<KeyTimers> = {
  id: 'timers',
  version: 1,
  encode({ event, clock }) {
    writer.clear();
    for (const times of [event, clock]) {
      writer.varint(times.length);
      for (const atMs of times) writer.i64(atMs);
    }
    return writer.view();
  },
  decode(bytes) {
    const reader = new ByteReader('timers', bytes);
    const read = () => Array.from({ length: reader.varint() }, () => reader.i64());
    return { event: read(), clock: read() };
  },
};

export function compareDue(left: DueTimer, right: DueTimer): number {
  return left.atMs - right.atMs || left.group - right.group || compareKeys(left.key, right.key);
}

function emptyHeaps() {
  return { event: new Heap(compareDue), clock: new Heap(compareDue) };
}

export class Timers {
  readonly #cells: AnyCells;
  readonly #keyGroups: number;
  #heaps = emptyHeaps();
  #count = 0;

  constructor(cells: AnyCells, keyGroups: number) {
    this.#cells = cells;
    this.#keyGroups = keyGroups;
  }

  get cells(): AnyCells {
    return this.#cells;
  }

  /** Entries in memory, including stale ones. */
  get indexed(): number {
    return this.#heaps.event.length + this.#heaps.clock.length;
  }

  /** Adds the restored timers of a key to the heap. */
  index(key: Key, timers: KeyTimers): void {
    const group = groupOf(key, this.#keyGroups);
    for (const kind of ['event', 'clock'] as const) {
      for (const atMs of timers[kind]) {
        this.#heaps[kind].push({ atMs, group, key });
        this.#count += 1;
      }
    }
  }

  set(kind: TimerKind, key: Key, atMs: number): void {
    if (!Number.isSafeInteger(atMs))
      throw badRecord(`timer time ${atMs} is not in whole milliseconds`);
    const timers = this.#of(key);
    const times = timers[kind];
    if (times.includes(atMs)) return;
    if (this.#count >= streamsLimits.timersMax.value) {
      throw new SynclineError(
        'limit-exceeded',
        `an operator would have more than ${streamsLimits.timersMax.value} timers`,
        { details: { limit: 'timersMax' } },
      );
    }
    const before = times.findLastIndex((other) => other < atMs);
    this.#store(key, { ...timers, [kind]: times.toSpliced(before + 1, 0, atMs) });
    this.#heaps[kind].push({ atMs, group: groupOf(key, this.#keyGroups), key });
    this.#count += 1;
  }

  delete(kind: TimerKind, key: Key, atMs: number): void {
    const timers = this.#of(key);
    const at = timers[kind].indexOf(atMs);
    if (at < 0) return;
    this.#store(key, { ...timers, [kind]: timers[kind].toSpliced(at, 1) });
    this.#count -= 1;
  }

  /** Removes the next timer at or before `throughMs` from the state and returns it. */
  takeDue(kind: TimerKind, throughMs: number): DueTimer | undefined {
    const heap = this.#heaps[kind];
    for (let top = heap.top; top !== undefined && top.atMs <= throughMs; top = heap.top) {
      heap.pop();
      if (!this.#of(top.key)[kind].includes(top.atMs)) continue;
      this.delete(kind, top.key, top.atMs);
      return top;
    }
    return undefined;
  }

  /** Returns a function that resets the number of timers to the current one. */
  countKeeper(): () => void {
    const count = this.#count;
    return () => {
      this.#count = count;
    };
  }

  /** Removes the stale entries if there are many. Not to be called while changes may still be undone. */
  compact(): void {
    if (this.indexed <= 2 * this.#count + STALE_MIN) return;
    const keys = new Set<Key>();
    for (const { items } of Object.values(this.#heaps)) for (const { key } of items) keys.add(key);
    this.#heaps = emptyHeaps();
    this.#count = 0;
    for (const key of keys) this.index(key, this.#of(key));
  }

  nextMs(kind: TimerKind): number {
    return this.#heaps[kind].top?.atMs ?? Number.POSITIVE_INFINITY;
  }

  #of(key: Key): KeyTimers {
    const cell = this.#cells.find(key);
    const none = { event: [], clock: [] };
    return cell === undefined ? none : (this.#cells.valueAt(cell) as KeyTimers);
  }

  #store(key: Key, timers: KeyTimers): void {
    const cell = this.#cells.edit(key);
    const isEmpty = timers.event.length === 0 && timers.clock.length === 0;
    if (cell === undefined) {
      if (!isEmpty) this.#cells.insert(key, timers, undefined);
    } else if (isEmpty) this.#cells.remove(cell);
    else this.#cells.change(cell, timers, undefined);
  }
}

// Timers of one operator: state like any other, with a heap beside it that knows which is next.
//
// The state holds, per key, the event timers and the clock timers that are set. The heap is derived from
// it and may be out of date: what it offers counts only if the state still has it. So a timer that was
// deleted, or undone with its item, needs no search.
//
// X32  A timer fires once, in the epoch in which it is removed, in the order (time, key group, key bytes).
import { SynclineError } from '@syncline/kernel';
import { streamsLimits } from '../limits.js';
import { ByteReader } from '../snapshot/byte-reader.js';
import { ByteWriter } from '../snapshot/byte-writer.js';
import type { Codec } from '../state/codec.js';
import { compareKeys, type Key, keyGroupOf, writeKey } from '../state/key.js';
import { badRecord } from '../state/state-error.js';
import type { AnyCells } from '../store/pipeline-states.js';
import { Heap } from './heap.js';

export const TIMERS = '~timers';

/** In ms; each list rises. */
export interface KeyTimers {
  readonly event: readonly number[];
  readonly clock: readonly number[];
}

export type TimerKind = keyof KeyTimers;

/** What is due, as the heap knows it. */
export interface DueTimer {
  readonly atMs: number;
  readonly group: number;
  readonly key: Key;
}

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

const keyScratch = new ByteWriter();

export function groupOf(key: Key, keyGroups: number): number {
  keyScratch.clear();
  writeKey(keyScratch, key);
  return keyGroupOf(keyScratch.view(), keyGroups);
}

export function compareDue(left: DueTimer, right: DueTimer): number {
  return left.atMs - right.atMs || left.group - right.group || compareKeys(left.key, right.key);
}

export class Timers {
  readonly #cells: AnyCells;
  readonly #keyGroups: number;
  readonly #heaps = { event: new Heap(compareDue), clock: new Heap(compareDue) };
  #count = 0;

  constructor(cells: AnyCells, keyGroups: number) {
    this.#cells = cells;
    this.#keyGroups = keyGroups;
  }

  get cells(): AnyCells {
    return this.#cells;
  }

  /** From what was restored. */
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
      throw badRecord(`timer time ${atMs} is not a whole number of ms`);
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

  /** Takes the next timer at or before `throughMs` out of the state. */
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

// All open pins, and the limit on what they hold together.
//
// S10  All pins together hold a bounded list; at the limit the oldest is broken.
import type { Dot } from '@syncline/kernel';
import type { EngineLimits } from '../limits.js';
import type { DotWords } from '../memory/element-row.js';
import type { SetEntry } from './set-table.js';

/** A pin as seen by code that changes the sets. */
export interface OpenPin {
  readonly entries: number;
  readonly bytes: number;
  /** Dots of an element were dropped: it had `before`, and `after` of these are left. */
  dropped(set: SetEntry, row: number, before: readonly Dot[], after: readonly Dot[]): void;
  /** An element got a dot. Only called for pins that track additions. */
  added?(set: SetEntry, row: number, dot: Dot): void;
  turnSettled(): void;
  turnUndone(): void;
  /** Frees its list; its reads throw from now on. */
  break(): void;
}

export class Pins {
  readonly #open = new Set<OpenPin>();
  readonly #limits: EngineLimits;
  #followers = 0;

  constructor(limits: EngineLimits) {
    this.#limits = limits;
  }

  get areOpen(): boolean {
    return this.#open.size > 0;
  }

  /** Whether any pin tracks additions. */
  get areFollowing(): boolean {
    return this.#followers > 0;
  }

  get count(): number {
    return this.#open.size;
  }

  get entries(): number {
    let entries = 0;
    for (const pin of this.#open) entries += pin.entries;
    return entries;
  }

  get bytes(): number {
    let bytes = 0;
    for (const pin of this.#open) bytes += pin.bytes;
    return bytes;
  }

  /** The oldest pin may soon be broken. */
  get areHalfFull(): boolean {
    const { pinEntriesMax, pinBytesMax } = this.#limits;
    return this.entries > pinEntriesMax / 2 || this.bytes > pinBytesMax / 2;
  }

  add(pin: OpenPin): void {
    this.#open.add(pin);
    if (pin.added !== undefined) this.#followers += 1;
    if (this.#open.size > this.#limits.pinsMax) this.#breakOldest();
  }

  remove(pin: OpenPin): void {
    if (this.#open.delete(pin) && pin.added !== undefined) this.#followers -= 1;
  }

  dropped(set: SetEntry, row: number, before: readonly Dot[], after: readonly Dot[]): void {
    for (const pin of this.#open) pin.dropped(set, row, before, after);
  }

  /** The words may be signed, as in a row. */
  added(set: SetEntry, row: number, { actor, high, low }: DotWords): void {
    const counter = high * 2 ** 32 + (low >>> 0);
    const dot: Dot = { actor: (actor >>> 0) as Dot['actor'], counter };
    for (const pin of this.#open) pin.added?.(set, row, dot);
  }

  turnSettled(): void {
    if (this.#open.size === 0) return;
    for (const pin of this.#open) pin.turnSettled();
    const { pinEntriesMax, pinBytesMax } = this.#limits;
    while (this.entries > pinEntriesMax || this.bytes > pinBytesMax) this.#breakOldest();
  }

  turnUndone(): void {
    for (const pin of this.#open) pin.turnUndone();
  }

  #breakOldest(): void {
    const [oldest] = this.#open;
    oldest?.break();
  }
}

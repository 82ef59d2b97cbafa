// All open pins, and the bound on what they hold together.
//
// S10  All pins together hold a bounded list; at the bound the oldest is broken.
import type { Dot } from '@syncline/kernel';
import type { EngineLimits } from './engine-limits.js';
import type { SetEntry } from './set-table.js';

/** A pin as those who change the sets see it. */
export interface OpenPin {
  readonly entries: number;
  readonly bytes: number;
  /** Dots of an element were dropped: it had `before`, and has `after` of these still. */
  dropped(set: SetEntry, row: number, before: readonly Dot[], after: readonly Dot[]): void;
  /** An element got a dot. Only of those that follow what is added. */
  added?(set: SetEntry, row: number, dot: Dot): void;
  turnSettled(): void;
  turnUndone(): void;
  /** Frees its list; its reads throw from now on. */
  break(): void;
}

/** All open pins, the oldest first. */
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

  /** Whether somebody wants to know what is added. */
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
  added(set: SetEntry, row: number, actor: number, high: number, low: number): void {
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

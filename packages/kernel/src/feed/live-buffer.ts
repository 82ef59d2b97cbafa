// What was published since a subscriber turned live and is not handed out yet.
//
//   off ── start ──▶ on ── full, block or coalesce ──▶ dropped ── start ──▶ on
//                     ├── full, fail ──▶ failed
//                     └── seal ──▶ sealed
//
// Off and dropped it takes nothing: the subscriber reads the store. Failed and sealed it takes nothing more
// and hands out what it has.
//
// K23  It never passes its bounds, and publishing never waits.
import type { FeedChange } from './feed-event.js';

export type FeedOverflow = 'block' | 'coalesce' | 'fail';

export interface BufferBounds {
  readonly eventsMax: number;
  readonly bytesMax: number;
}

export interface LiveBufferOptions<C> extends BufferBounds {
  readonly overflow: FeedOverflow;
  readonly bytesOf: (change: C) => number;
}

export class LiveBuffer<C extends FeedChange> {
  readonly #options: LiveBufferOptions<C>;
  #state: 'off' | 'on' | 'dropped' | 'failed' | 'sealed' = 'off';
  // What lies before #head was handed out. It is cut off in bulk.
  #held: C[] = [];
  #head = 0;
  #bytes = 0;
  #through = 0;

  constructor(options: LiveBufferOptions<C>) {
    this.#options = options;
  }

  /** Its subscriber is served from here, not from the store. */
  get isServing(): boolean {
    return this.#state !== 'off' && this.#state !== 'dropped';
  }

  get hasDropped(): boolean {
    return this.#state === 'dropped';
  }

  /** It was full under `fail`. */
  get hasFailed(): boolean {
    return this.#state === 'failed';
  }

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  get #length(): number {
    return this.#held.length - this.#head;
  }

  /** All in scope up to here was handed out or is held; for a dropped one, was handed out. */
  get through(): number {
    return this.#through;
  }

  /** From now on it takes what is above `revision`. */
  start(revision: number): void {
    this.#through = revision;
    this.#state = 'on';
  }

  stop(): void {
    this.#state = 'off';
    this.#empty();
  }

  /** Takes nothing more. */
  seal(): void {
    if (this.#state === 'on') this.#state = 'sealed';
  }

  /** Takes a change in scope. `extraEvents`: how many more than its bound it may hold for now. */
  offer(change: C, extraEvents: number): 'taken' | 'ignored' | 'full' {
    // What is not above was in the view that was read before.
    if (this.#state !== 'on' || change.revision <= this.#through) return 'ignored';
    const bytes = this.#options.bytesOf(change);
    const fits =
      this.#length < this.#options.eventsMax + extraEvents &&
      this.#bytes + bytes <= this.#options.bytesMax;
    if (!fits && this.#length > 0) {
      this.#overflow();
      return 'full';
    }
    this.#held.push(change);
    this.#bytes += bytes;
    this.#through = change.revision;
    return 'taken';
  }

  /** Up to `countMax` of what is held, oldest first. */
  take(countMax: number): readonly C[] {
    if (this.#head === 0 && this.#held.length <= countMax) {
      const all = this.#held;
      this.#empty();
      return all;
    }
    const taken = this.#held.slice(this.#head, this.#head + countMax);
    for (const change of taken) this.#bytes -= this.#options.bytesOf(change);
    this.#head += taken.length;
    if (this.#head * 2 >= this.#held.length) {
      this.#held = this.#held.slice(this.#head);
      this.#head = 0;
    }
    return taken;
  }

  #overflow(): void {
    if (this.#options.overflow === 'fail') {
      this.#state = 'failed';
      return;
    }
    // What came before the oldest that is held was handed out, or was out of scope.
    const oldest = this.#held[this.#head];
    if (oldest) this.#through = oldest.revision - 1;
    this.#state = 'dropped';
    this.#empty();
  }

  #empty(): void {
    this.#held = [];
    this.#head = 0;
    this.#bytes = 0;
  }
}

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
import { kernelLimits } from '../limits.js';
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

  /**
   * Takes a change in scope. `isAwaited`: its subscriber takes a batch as soon as this commit is published
   * whole. That is not being slow, so it may hold a commit more than its bounds.
   */
  offer(change: C, isAwaited: boolean): 'taken' | 'ignored' | 'full' {
    // What is not above was in the view that was read before.
    if (this.#state !== 'on' || change.revision <= this.#through) return 'ignored';
    const bytes = this.#options.bytesOf(change);
    const { eventsMax, bytesMax } = this.#options;
    const { feedBatchEventsMax, feedCommitBytesMax } = kernelLimits;
    const fits =
      this.#length < eventsMax + (isAwaited ? feedBatchEventsMax.value : 0) &&
      this.#bytes + bytes <= bytesMax + (isAwaited ? feedCommitBytesMax.value : 0);
    if (!fits && this.#length > 0) {
      this.#overflow();
      return 'full';
    }
    this.#held.push(change);
    this.#bytes += bytes;
    this.#through = change.revision;
    return 'taken';
  }

  /** Of what is held, oldest first, up to `countMax` and what a batch may have in bytes, but one at least. */
  take(countMax: number): readonly C[] {
    const { value: bytesMax } = kernelLimits.feedBatchBytesMax;
    if (this.#head === 0 && this.#held.length <= countMax && this.#bytes <= bytesMax) {
      const all = this.#held;
      this.#empty();
      return all;
    }
    const taken = this.#oldest(countMax, bytesMax);
    this.#head += taken.length;
    if (this.#head * 2 >= this.#held.length) {
      this.#held = this.#held.slice(this.#head);
      this.#head = 0;
    }
    return taken;
  }

  #oldest(countMax: number, bytesMax: number): readonly C[] {
    const endMax = Math.min(this.#held.length, this.#head + countMax);
    let bytes = 0;
    let end = this.#head;
    for (; end < endMax; end += 1) {
      const change = this.#held[end];
      const more = change ? this.#options.bytesOf(change) : 0;
      if (bytes + more > bytesMax && end > this.#head) break;
      bytes += more;
    }
    this.#bytes -= bytes;
    return this.#held.slice(this.#head, end);
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

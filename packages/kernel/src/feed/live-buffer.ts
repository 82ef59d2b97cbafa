// Changes published since a subscriber became live and not yet delivered.
//
//   off ── start ──▶ on ── full, block or coalesce ──▶ dropped ── start ──▶ on
//                     ├── full, fail ──▶ failed
//                     └── seal ──▶ sealed
//
// While off or dropped it accepts nothing: the subscriber reads the store. Once failed or sealed it accepts
// nothing more and delivers what it has.
//
// K23  It never exceeds its bounds, and publishing never waits.
import { kernelLimits } from '../limits.js';
import type { FeedChange } from './feed-event.js';

export type FeedOverflow = 'block' | 'coalesce' | 'fail';

export interface BufferBounds {
  readonly eventsMax: number;
  readonly bytesMax: number;
}

/** What several buffers may hold together. */
export interface BufferRoom {
  /** Whether the limit is reached: a growing buffer whose subscriber is not waiting then counts as full. */
  readonly isFull: boolean;
  /** Adds the bytes by which a buffer grew; negative if it shrank. */
  add(bytes: number): void;
}

export interface LiveBufferOptions<C> extends BufferBounds {
  readonly overflow: FeedOverflow;
  readonly room?: BufferRoom | undefined;
  readonly bytesOf: (change: C) => number;
}

export class LiveBuffer<C extends FeedChange> {
  readonly #options: LiveBufferOptions<C>;
  #state: 'off' | 'on' | 'dropped' | 'failed' | 'sealed' = 'off';
  // Entries before #head were delivered. They are removed in bulk.
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

  /** Every change in scope up to here was delivered or is held; for a dropped buffer, was delivered. */
  get through(): number {
    return this.#through;
  }

  /** Accepts changes above `revision` from now on. */
  start(revision: number): void {
    this.#through = revision;
    this.#state = 'on';
  }

  stop(): void {
    this.#state = 'off';
    this.#empty();
  }

  /** Accepts nothing more. */
  seal(): void {
    if (this.#state === 'on') this.#state = 'sealed';
  }

  /**
   * Accepts a change in scope. `isAwaited`: the subscriber takes a batch as soon as this whole commit is
   * published. That is not slow, so the buffer may exceed its bounds by one commit.
   */
  offer(change: C, isAwaited: boolean): 'taken' | 'ignored' | 'full' {
    // Other changes were in the view that was read before.
    if (this.#state !== 'on' || change.revision <= this.#through) return 'ignored';
    const bytes = this.#options.bytesOf(change);
    const { eventsMax, bytesMax } = this.#options;
    const { feedBatchEventsMax, feedCommitBytesMax } = kernelLimits;
    const fits =
      this.#length < eventsMax + (isAwaited ? feedBatchEventsMax.value : 0) &&
      this.#bytes + bytes <= bytesMax + (isAwaited ? feedCommitBytesMax.value : 0);
    const hasRoom = isAwaited || this.#options.room?.isFull !== true;
    if (!(fits && hasRoom) && this.#length > 0) {
      this.#overflow();
      return 'full';
    }
    this.#held.push(change);
    this.#count(bytes);
    this.#through = change.revision;
    return 'taken';
  }

  /** The oldest held changes, up to `countMax` and the byte limit of a batch, but at least one. */
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
    this.#count(-bytes);
    return this.#held.slice(this.#head, end);
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#options.room?.add(bytes);
  }

  #overflow(): void {
    if (this.#options.overflow === 'fail') {
      this.#state = 'failed';
      return;
    }
    // Anything before the oldest held change was delivered, or was out of scope.
    const oldest = this.#held[this.#head];
    if (oldest) this.#through = oldest.revision - 1;
    this.#state = 'dropped';
    this.#empty();
  }

  #empty(): void {
    this.#held = [];
    this.#head = 0;
    this.#count(-this.#bytes);
  }
}

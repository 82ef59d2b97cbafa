// What was published since a subscriber turned live and is not handed out yet.
//
//   off ── start ──▶ on ── full, block or coalesce ──▶ dropped ── start ──▶ on
//                     └── full, fail ──▶ failed
//
// Off and dropped it takes nothing: the subscriber reads the store. Failed it takes nothing more, hands
// out what it has and then throws.
//
// K23  It never passes its bounds, and publishing never waits.
import type { BoundedQueue } from '../bounded-queue.js';
import { SynclineError } from '../error.js';
import type { FeedChange } from './feed-event.js';

export type FeedOverflow = 'block' | 'coalesce' | 'fail';

export interface LiveBufferDeps<C extends FeedChange> {
  isInScope(change: C): boolean;
  createQueue(): BoundedQueue<C>;
}

export class LiveBuffer<C extends FeedChange> {
  readonly #deps: LiveBufferDeps<C>;
  readonly #overflow: FeedOverflow;
  #queue: BoundedQueue<C>;
  #state: 'off' | 'on' | 'dropped' | 'failed' = 'off';
  #through = 0;

  constructor(deps: LiveBufferDeps<C>, overflow: FeedOverflow) {
    this.#deps = deps;
    this.#overflow = overflow;
    this.#queue = deps.createQueue();
  }

  /** Its subscriber is served from here, not from the store. */
  get isServing(): boolean {
    return this.#state === 'on' || this.#state === 'failed';
  }

  get hasDropped(): boolean {
    return this.#state === 'dropped';
  }

  /** With nothing left to hand out: the revision up to which all in scope was. */
  get levelRevision(): number | undefined {
    return this.isServing && this.#queue.length === 0 ? this.#through : undefined;
  }

  /** From now on it takes what is above `revision`. */
  start(revision: number): void {
    this.#through = revision;
    this.#state = 'on';
  }

  stop(): void {
    this.#state = 'off';
  }

  publish(changes: readonly C[]): void {
    for (const change of changes) {
      if (this.#state !== 'on') return;
      if (change.revision <= this.#through) continue; // the view it was read from had it already
      if (this.#deps.isInScope(change) && this.#queue.offer(change) === 'full') this.#overflown();
      else this.#through = change.revision;
    }
  }

  /** Waits for a change and takes up to `countMax`. Undefined when the signal has fired. */
  async take(countMax: number, signal: AbortSignal): Promise<readonly C[] | undefined> {
    try {
      const first = await this.#queue.take(signal);
      if (!first) return undefined;
      const changes = [first.item];
      while (changes.length < countMax) {
        const next = this.#queue.takeNow();
        if (!next) break;
        changes.push(next.item);
      }
      return changes;
    } catch (thrown) {
      if (signal.aborted) return undefined; // closing ends the loop, it is not an error
      throw thrown;
    }
  }

  #overflown(): void {
    if (this.#overflow !== 'fail') {
      this.#state = 'dropped';
      this.#queue = this.#deps.createQueue();
      return;
    }
    this.#state = 'failed';
    const message =
      'the subscriber was too slow and its buffer is full. Resume after details.revision';
    this.#queue.fail(
      new SynclineError('overflow', message, { details: { revision: this.#through } }),
    );
  }
}

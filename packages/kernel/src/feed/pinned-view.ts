// Reads one side of a view page by page, and releases the view when it is too old.
//
// A view pins resources of the store (a snapshot keeps old data on disk). A subscriber that stalls in the middle of a
// replay must not hold them forever, so a timer closes the view even if its reader does not pull. While others wait
// for resources it must not hold any: then it keeps its page and its position, but no view.
import type { Clock, Timer } from '../clock.js';
import { SynclineError } from '../error.js';
import { kernelLimits } from '../limits.js';
import type { FeedChange } from './feed-event.js';
import type { FeedView } from './feed-store.js';

export type Page<C> =
  | { readonly kind: 'page'; readonly changes: readonly C[] }
  | { readonly kind: 'done' }
  /** Too old, or lost with its store: open a new view and continue after what was delivered. */
  | { readonly kind: 'expired' };

export class PinnedView<C extends FeedChange> {
  readonly #clock: Clock;
  readonly #view: FeedView<C>;
  readonly #pages: AsyncIterator<readonly C[]>;
  readonly #timer: Timer;
  #isReading = false;
  /** When the last page was delivered. Undefined: none yet, so that every view makes progress for its reader. */
  #pageAtMs: number | undefined;
  #isExpired = false;
  #isClosed = false;

  constructor(
    clock: Clock,
    view: FeedView<C>,
    options: { readonly pages: AsyncIterable<readonly C[]>; readonly ageMaxMs: number },
  ) {
    this.#clock = clock;
    this.#view = view;
    this.#pages = options.pages[Symbol.asyncIterator]();
    this.#timer = clock.setTimer(options.ageMaxMs, () => this.release(), { unref: true });
    view.onWanted?.(() => this.#letGoIfStalled());
  }

  async next(): Promise<Page<C>> {
    if (this.#isExpired) return { kind: 'expired' };
    this.#isReading = true;
    try {
      const next = await this.#pages.next();
      return next.done ? { kind: 'done' } : { kind: 'page', changes: next.value };
    } catch (thrown) {
      // A store that was reopened has closed its views. What was read so far counts.
      if (!(thrown instanceof SynclineError && thrown.code === 'unavailable')) throw thrown;
      this.#isExpired = true;
      return { kind: 'expired' };
    } finally {
      this.#isReading = false;
      this.#pageAtMs = this.#clock.monotonicMs();
      if (this.#isExpired) await this.close();
    }
  }

  /** Releases the view from outside. A page in flight is still delivered, then its reader closes. */
  release(): void {
    this.#isExpired = true;
    if (!this.#isReading) this.close().catch(() => {}); // opening the next view reports the error
  }

  #letGoIfStalled(): boolean {
    if (this.#pageAtMs === undefined || this.#isReading || this.#isClosed) return false;
    const idleMs = this.#clock.monotonicMs() - this.#pageAtMs;
    if (idleMs < kernelLimits.feedViewStallMs.value) return false;
    this.release();
    return true;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#timer.cancel();
    try {
      await this.#pages.return?.();
    } finally {
      this.#view.close();
    }
  }
}

// A queue between a producer and a consumer, bounded by count and by bytes.
//
// Offering never waits: when the queue is full, the producer is refused and decides whether to wait, to drop or
// to fail. Taking waits. Only one taker at a time.
//
// K7  At most `itemsMax` items and `bytesMax` bytes are held, but one item larger than `bytesMax` fits
//     alone, since it could never pass otherwise. Items leave in the order they came.
import { assert } from './assert.js';
import { abortedError, SynclineError } from './error.js';

export interface BoundedQueueOptions<T> {
  readonly itemsMax: number;
  /** Default: no bound by bytes. */
  readonly bytesMax?: number;
  /** How many bytes an item counts as. Default 0. */
  readonly bytesOf?: (item: T) => number;
}

interface Held<T> {
  readonly item: T;
  readonly bytes: number;
}

type End = { readonly kind: 'closed' } | { readonly kind: 'failed'; readonly error: SynclineError };

export class BoundedQueue<T> implements AsyncIterable<T> {
  readonly #options: Required<BoundedQueueOptions<T>>;
  // Slots before #head are empty. They are removed in bulk, since shifting each would cost time proportional to the
  // length.
  #items: (Held<T> | undefined)[] = [];
  #head = 0;
  #bytes = 0;
  #end: End | undefined;
  #wake: (() => void) | undefined;

  constructor(options: BoundedQueueOptions<T>) {
    assert(options.itemsMax >= 1, 'a queue holds at least one item');
    this.#options = { bytesMax: Number.POSITIVE_INFINITY, bytesOf: () => 0, ...options };
  }

  get length(): number {
    return this.#items.length - this.#head;
  }

  get bytes(): number {
    return this.#bytes;
  }

  offer(item: T): 'taken' | 'full' | 'closed' {
    if (this.#end) return 'closed';
    const bytes = this.#options.bytesOf(item);
    const fits =
      this.length < this.#options.itemsMax && this.#bytes + bytes <= this.#options.bytesMax;
    if (!fits && this.length > 0) return 'full';
    this.#items.push({ item, bytes });
    this.#bytes += bytes;
    this.#wakeNow();
    return 'taken';
  }

  /**
   * The next item, wrapped so that it may be undefined itself; undefined once the queue is closed and
   * empty. Throws what `fail` was given, after the last item.
   */
  async take(signal?: AbortSignal): Promise<{ readonly item: T } | undefined> {
    for (;;) {
      if (signal?.aborted) throw abortedError('taking from a queue', signal);
      const next = this.takeNow();
      if (next) return next;
      if (this.#end?.kind === 'failed') throw this.#end.error;
      if (this.#end) return undefined;
      await this.#waitForItem(signal);
    }
  }

  /** The next item if there is one now. */
  takeNow(): { readonly item: T } | undefined {
    const next = this.#items[this.#head];
    if (!next) return undefined;
    this.#items[this.#head] = undefined; // do not keep a reference to what was taken
    this.#head += 1;
    this.#bytes -= next.bytes;
    if (this.#head === this.#items.length || this.#head >= 1024) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return next;
  }

  /** Accepts no more items. Those in the queue can still be taken. */
  close(): void {
    this.#finish({ kind: 'closed' });
  }

  /** Like `close`, but the taker gets this error after the last item. */
  fail(error: SynclineError): void {
    this.#finish({ kind: 'failed', error });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (let next = await this.take(); next; next = await this.take()) yield next.item;
  }

  #finish(end: End): void {
    this.#end ??= end;
    this.#wakeNow();
  }

  async #waitForItem(signal: AbortSignal | undefined): Promise<void> {
    if (this.#wake) throw new SynclineError('conflict', 'a queue has one taker at a time');
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      signal?.addEventListener('abort', this.#wakeNow);
    });
    signal?.removeEventListener('abort', this.#wakeNow);
    this.#wake = undefined;
  }

  readonly #wakeNow = (): void => this.#wake?.();
}

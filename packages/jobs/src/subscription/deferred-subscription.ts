// A subscription that is opened at its first pull, so that `subscribe` need not wait and what is wrong is
// thrown where the reader is.
//
// Once it is open each pull goes straight to the subscription behind it.
import type { Cursor, JobEvent, JobSubscription, StoreSubscribeOptions } from '../job-event.js';

type Open = (signal: AbortSignal) => Promise<JobSubscription> | JobSubscription;
type Options = Pick<StoreSubscribeOptions, 'after' | 'signal'>;

/**
 * `open` is called once, at the first pull. Its signal fires when the subscription is ended meanwhile; what
 * it throws then is no error. What it opens still has to watch the signal of the options itself.
 */
export function deferSubscription(open: Open, options: Options): JobSubscription {
  return new DeferredSubscription(open, options);
}

class DeferredSubscription implements JobSubscription {
  readonly #open: Open;
  readonly #options: Options;
  readonly #stop = new AbortController();
  #opening: Promise<JobSubscription | undefined> | undefined;
  #inner: JobSubscription | undefined;

  constructor(open: Open, options: Options) {
    this.#open = open;
    this.#options = options;
  }

  get cursor(): Cursor | undefined {
    return this.#inner ? this.#inner.cursor : this.#options.after;
  }

  batches(max?: number): AsyncIterableIterator<readonly JobEvent[]> {
    return this.#iterate((inner) => inner.batches(max)[Symbol.asyncIterator]());
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<JobEvent> {
    return this.#iterate((inner) => inner[Symbol.asyncIterator]());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#inner?.[Symbol.asyncDispose]();
  }

  #iterate<T>(iterate: (inner: JobSubscription) => AsyncIterator<T>): AsyncIterableIterator<T> {
    const ended = { done: true, value: undefined } as const;
    let iterator: AsyncIterator<T> | undefined;
    const first = async (): Promise<IteratorResult<T>> => {
      this.#opening ??= this.#openNow();
      const inner = await this.#opening;
      if (!inner) return ended;
      iterator ??= iterate(inner);
      return iterator.next();
    };
    const outer: AsyncIterableIterator<T> = {
      next: () => (iterator ? iterator.next() : first()),
      return: async () => {
        await this[Symbol.asyncDispose]();
        return ended;
      },
      [Symbol.asyncIterator]: () => outer,
    };
    return outer;
  }

  /** Undefined when it was ended before. */
  async #openNow(): Promise<JobSubscription | undefined> {
    const stop = this.#stop;
    const { signal } = this.#options;
    const stopNow = () => stop.abort(signal?.reason);
    if (signal?.aborted) stopNow();
    if (stop.signal.aborted) return undefined;
    signal?.addEventListener('abort', stopNow);
    try {
      const inner = await this.#open(stop.signal);
      this.#inner = inner;
      if (stop.signal.aborted) await inner[Symbol.asyncDispose]();
      return inner;
    } catch (thrown) {
      if (stop.signal.aborted) return undefined;
      throw thrown;
    } finally {
      signal?.removeEventListener('abort', stopNow);
    }
  }
}

// A subscription as a store hands it out. It is opened at the first pull, so that `subscribe` need not wait and what
// is wrong is thrown to the reader. Events are converted when they are handed out, not when they are buffered.
import type { Cursor, JobSubscription, StoreSubscribeOptions } from '../job-event.js';
import type { EncodedEvent } from './feed-event.js';
import type { OpenedSubscription } from './job-feed.js';

type Open = (signal: AbortSignal) => Promise<OpenedSubscription> | OpenedSubscription;
type Options = Pick<StoreSubscribeOptions, 'after' | 'signal'>;

/**
 * `open` is called once. Its signal fires when the subscription is ended before it is open; what it throws then is
 * no error. What it opens must watch the signal of the options itself.
 */
export function storeSubscription<E>(
  open: Open,
  options: Options,
  convert: (event: EncodedEvent) => E,
): JobSubscription<E> {
  return new StoreSubscription(open, options, convert);
}

class StoreSubscription<E> implements JobSubscription<E> {
  readonly #open: Open;
  readonly #options: Options;
  readonly #convert: (event: EncodedEvent) => E;
  readonly #stop = new AbortController();
  #opening: Promise<OpenedSubscription | undefined> | undefined;
  #opened: OpenedSubscription | undefined;

  constructor(open: Open, options: Options, convert: (event: EncodedEvent) => E) {
    this.#open = open;
    this.#options = options;
    this.#convert = convert;
  }

  get cursor(): Cursor | undefined {
    return this.#opened ? this.#opened.cursor() : this.#options.after;
  }

  batches(max?: number): AsyncIterableIterator<readonly E[]> {
    return this.#iterate(
      ({ events }) => events.batches(max),
      (batch) => batch.map(this.#convert),
    );
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<E> {
    return this.#iterate(({ events }) => events[Symbol.asyncIterator](), this.#convert);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#opened?.events.close();
  }

  #iterate<T, R>(
    iterate: (opened: OpenedSubscription) => AsyncIterator<T>,
    convert: (value: T) => R,
  ): AsyncIterableIterator<R> {
    const ended = { done: true, value: undefined } as const;
    let iterator: AsyncIterator<T> | undefined;
    const outer: AsyncIterableIterator<R> = {
      next: async () => {
        if (iterator === undefined) {
          this.#opening ??= this.#openNow();
          const opened = await this.#opening;
          if (!opened) return ended;
          iterator ??= iterate(opened);
        }
        const result = await iterator.next();
        return result.done ? ended : { done: false, value: convert(result.value) };
      },
      return: async () => {
        await this[Symbol.asyncDispose]();
        return ended;
      },
      [Symbol.asyncIterator]: () => outer,
    };
    return outer;
  }

  /** Undefined if it was ended before. */
  async #openNow(): Promise<OpenedSubscription | undefined> {
    const stop = this.#stop;
    const { signal } = this.#options;
    const stopNow = () => stop.abort(signal?.reason);
    if (signal?.aborted) stopNow();
    if (stop.signal.aborted) return undefined;
    signal?.addEventListener('abort', stopNow);
    try {
      const opened = await this.#open(stop.signal);
      this.#opened = opened;
      if (stop.signal.aborted) opened.events.close();
      return opened;
    } catch (thrown) {
      if (stop.signal.aborted) return undefined;
      throw thrown;
    } finally {
      signal?.removeEventListener('abort', stopNow);
    }
  }
}

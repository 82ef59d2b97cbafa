// The store's side of all links, in its process: handles calls, and reads subscriptions for clients, one batch per
// request. A subscription without requests is closed after a while.
import type { JobEvent, JobStore, StoreSubscribeOptions } from '@syncline/jobs';
import { type Clock, SynclineError, type Timer } from '@syncline/kernel';
import {
  type ReplyMessage,
  type Request,
  type RequestMessage,
  type StreamBatch,
  toSentError,
} from './link-messages.js';

/** An empty reply shows that the store is alive. */
const WAIT_MS_MAX = 500;
const IDLE_MS_MAX = 3_000;
const BATCH_EVENTS_MAX = 4;

interface Stream {
  readonly end: AbortController;
  readonly batches: AsyncIterator<readonly JobEvent[]>;
  number: number;
  /** The batch with this number. It is kept, since its reply may be lost. */
  current: Promise<StreamBatch>;
  idle: Timer | undefined;
}

export interface StoreServerDeps {
  readonly store: JobStore;
  readonly clock: Clock;
  readonly reply: (client: string, message: ReplyMessage) => void;
}

export class StoreServer {
  readonly #deps: StoreServerDeps;
  readonly #streams = new Map<number, Stream>();

  constructor(deps: StoreServerDeps) {
    this.#deps = deps;
  }

  receive({ id, client, request }: RequestMessage): void {
    const send = (reply: ReplyMessage['reply']) => this.#deps.reply(client, { id, reply });
    void this.#answer(id, request).then(
      (value) => send({ value: structuredClone(value) }),
      (thrown: unknown) => send({ error: toSentError(thrown) }),
    );
  }

  /** Closes all subscriptions. */
  async close(): Promise<void> {
    for (const stream of [...this.#streams.keys()]) this.#cancel(stream);
  }

  async #answer(id: number, request: Request): Promise<unknown> {
    switch (request.kind) {
      case 'call':
        return this.#call(request.name, request.args);
      case 'open':
        return this.#open(id, request.jobId, request.options as StoreSubscribeOptions);
      case 'next':
        return this.#next(request.stream, request.number);
      case 'cancel':
        return this.#cancel(request.stream);
    }
  }

  #call(name: keyof JobStore, args: readonly unknown[]): Promise<unknown> {
    const { store } = this.#deps;
    const method = store[name] as (...args: unknown[]) => Promise<unknown>;
    return method.apply(store, [...args]);
  }

  /** A duplicated request opens two; the other one is never read. */
  #open(id: number, jobId: string, options: StoreSubscribeOptions): number {
    const stream = this.#streams.has(id) ? -id : id;
    const end = new AbortController();
    const subscription = this.#deps.store.subscribe(jobId, { ...options, signal: end.signal });
    const batches = subscription.batches(BATCH_EVENTS_MAX)[Symbol.asyncIterator]();
    const idle = undefined;
    this.#streams.set(stream, { end, batches, number: 0, current: Promise.resolve([]), idle });
    this.#watch(stream);
    return stream;
  }

  async #next(name: number, number: number): Promise<StreamBatch> {
    const stream = this.#streams.get(name);
    const isNext = stream && number === stream.number + 1;
    if (!stream || (!isNext && number !== stream.number))
      throw new SynclineError('unavailable', `this stream has no batch ${number}`);
    this.#watch(name);
    if (isNext) {
      stream.number = number;
      stream.current = this.#read(stream);
      stream.current.catch(() => {}); // a repeated request gets the same error
    }
    const waited = this.#deps.clock.sleep(WAIT_MS_MAX).then(() => 'wait' as const);
    return Promise.race([stream.current, waited]);
  }

  async #read(stream: Stream): Promise<StreamBatch> {
    const next = await stream.batches.next();
    return next.done ? 'end' : next.value;
  }

  #watch(name: number): void {
    const stream = this.#streams.get(name);
    stream?.idle?.cancel();
    if (stream) stream.idle = this.#deps.clock.setTimer(IDLE_MS_MAX, () => this.#cancel(name));
  }

  #cancel(name: number): void {
    const stream = this.#streams.get(name);
    stream?.idle?.cancel();
    stream?.end.abort();
    this.#streams.delete(name);
  }
}

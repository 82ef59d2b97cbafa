// A subscription as a program sees it: the store's, with the states read by their tags.
//
// It ends with the caller's signal, with the loop, or with whoever opened it, and drops what it holds then.
//
// J21  After its end the store's subscription is closed, and no listener is left.
import type { Clock } from '@syncline/kernel';
import type { Cursor, JobEvent, JobSubscription } from '../job-event.js';
import type { JobsMetrics } from '../metrics-list.js';
import type { StateReader } from '../payload/state-reader.js';

export interface ReadSubscriptionDeps {
  readonly clock: Clock;
  readonly metrics: JobsMetrics;
  readonly states: StateReader;
  open(signal: AbortSignal): JobSubscription;
  /** It has ended. */
  onEnd(subscription: JobSubscription): void;
}

export interface ReadSubscriptionOptions {
  readonly signal: AbortSignal | undefined;
  /** Where it resumes. */
  readonly after: Cursor | undefined;
}

const BATCH_EVENTS_DEFAULT = 256;

export class ReadSubscription implements JobSubscription {
  readonly #deps: ReadSubscriptionDeps;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal | undefined;
  readonly #source: JobSubscription;
  /** Events are handed on as they are. */
  readonly #isPlain: boolean;
  #cursor: Cursor | undefined;
  #pulledAtMs: number | undefined;

  constructor(deps: ReadSubscriptionDeps, { signal, after }: ReadSubscriptionOptions) {
    this.#deps = deps;
    this.#cursor = after;
    this.#signal = signal;
    this.#isPlain = deps.states.isPlain;
    if (signal?.aborted) this.#stop.abort();
    this.#source = deps.open(this.#stop.signal);
    signal?.addEventListener('abort', this.#end);
  }

  get cursor(): Cursor | undefined {
    return this.#cursor;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<JobEvent> {
    this.#pulledAtMs = this.#deps.clock.monotonicMs();
    try {
      for await (const stored of this.#source) {
        const event = this.#isPlain ? stored : await this.#read(stored);
        if (this.#stop.signal.aborted) return;
        this.#note(event);
        yield event;
      }
    } finally {
      await this[Symbol.asyncDispose]();
    }
  }

  async *batches(max = BATCH_EVENTS_DEFAULT): AsyncGenerator<readonly JobEvent[]> {
    this.#pulledAtMs = this.#deps.clock.monotonicMs();
    try {
      for await (const stored of this.#source.batches(max)) {
        const events = this.#isPlain
          ? stored
          : await Promise.all(stored.map((event) => this.#read(event)));
        if (this.#stop.signal.aborted) return;
        for (const event of events) this.#note(event);
        yield events;
      }
    } finally {
      await this[Symbol.asyncDispose]();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end();
    await this.#source[Symbol.asyncDispose]();
  }

  readonly #end = (): void => {
    this.#signal?.removeEventListener('abort', this.#end);
    this.#stop.abort();
    this.#deps.onEnd(this);
  };

  async #read(event: JobEvent): Promise<JobEvent> {
    if (!('state' in event)) return event;
    return { ...event, state: await this.#deps.states.read(event.state) };
  }

  /** The cursor follows what was handed out, not what the store has read ahead. */
  #note(event: JobEvent): void {
    if ('cursor' in event) this.#cursor = event.cursor;
    if (event.kind === 'gap' && event.reason === 'overflow') {
      this.#deps.metrics.add('syncline_jobs_subscription_drops_total', 1, { reason: 'coalesce' });
    }
    if (event.kind === 'synced' && this.#pulledAtMs !== undefined) {
      const tookMs = this.#deps.clock.monotonicMs() - this.#pulledAtMs;
      if (!event.resumed)
        this.#deps.metrics.observe('syncline_jobs_replay_duration_seconds', tookMs / 1000);
      this.#pulledAtMs = undefined;
    }
  }
}

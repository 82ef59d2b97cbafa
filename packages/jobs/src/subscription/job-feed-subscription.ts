// One subscriber of a job's feed, as stores hand it out.
import type { FeedSubscription } from '@syncline/kernel';
import type { Cursor, JobEvent, JobSubscription } from '../job-event.js';
import type { JobFeedChange } from './feed-change.js';
import type { JobPresenter } from './job-presenter.js';

export class JobFeedSubscription implements JobSubscription {
  readonly #inner: FeedSubscription<JobFeedChange, JobEvent>;
  readonly #presenter: JobPresenter;

  constructor(inner: FeedSubscription<JobFeedChange, JobEvent>, presenter: JobPresenter) {
    this.#inner = inner;
    this.#presenter = presenter;
  }

  /** Before the first event: where it was told to resume. */
  get cursor(): Cursor | undefined {
    return this.#presenter.cursorAt(this.#inner.position);
  }

  batches(max?: number): AsyncIterableIterator<readonly JobEvent[]> {
    return this.#inner.batches(max);
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<JobEvent> {
    return this.#inner[Symbol.asyncIterator]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#inner.close();
  }
}

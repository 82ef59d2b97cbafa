// Reads a subscription with a deadline: a stream that makes no progress fails its case instead of hanging it.
import assert from 'node:assert/strict';
import type { Clock } from '@syncline/kernel';
import type { Cursor, JobEvent, JobSubscription, StoreSubscribeOptions } from '../job-store.js';
import { JOB_ID } from './job-samples.js';
import type { JobStoreSubject } from './job-store-subject.js';
import { formatEvent } from './trace/job-trace.js';

export const DEADLINE_MS = 15_000;

export class StreamReader implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #subscription: JobSubscription;
  readonly #events: AsyncIterator<JobEvent>;
  /** All events so far. */
  readonly seen: JobEvent[] = [];

  constructor(
    { store, clock }: JobStoreSubject,
    options: Partial<StoreSubscribeOptions> = {},
    jobId = JOB_ID,
  ) {
    this.#clock = clock;
    this.#subscription = store.subscribe(jobId, { scope: {}, ...options });
    this.#events = this.#subscription[Symbol.asyncIterator]();
  }

  get cursor(): Cursor | undefined {
    return this.#subscription.cursor;
  }

  /** Undefined if the stream has ended. `sinceMs`: when the waiting began; `live` and `stale` do not extend it. */
  async next(sinceMs = this.#clock.monotonicMs()): Promise<JobEvent | undefined> {
    const leftMs = sinceMs + DEADLINE_MS - this.#clock.monotonicMs();
    const seen = this.seen.slice(-10).map(formatEvent).join('; ');
    const what = `the next event after ${seen || 'nothing'}`;
    const result = await within(this.#clock, what, this.#events.next(), leftMs);
    if (result.done) return undefined;
    this.seen.push(result.value);
    return result.value;
  }

  /** The next event other than `live` and `stale`. */
  async nextNews(): Promise<JobEvent | undefined> {
    const sinceMs = this.#clock.monotonicMs();
    for (;;) {
      const event = await this.next(sinceMs);
      if (event?.kind !== 'live' && event?.kind !== 'stale') return event;
    }
  }

  /** Reads up to an event for which this is true, and returns all events on the way. */
  async until(isLast: (event: JobEvent) => boolean): Promise<readonly JobEvent[]> {
    const events: JobEvent[] = [];
    const sinceMs = this.#clock.monotonicMs();
    for (;;) {
      const event = await this.next(sinceMs);
      assert.ok(event, `the stream ended after ${events.map(formatEvent).join('; ')}`);
      events.push(event);
      if (isLast(event)) return events;
    }
  }

  untilKind(kind: JobEvent['kind']): Promise<readonly JobEvent[]> {
    return this.until((event) => event.kind === kind);
  }

  /** Reads until it has the state of this revision. */
  untilRevision(revision: number): Promise<readonly JobEvent[]> {
    return this.until((event) => 'state' in event && event.state.revision >= revision);
  }

  /** The stream ends without an error; `live` and `stale` may come before. */
  async ends(): Promise<void> {
    const event = await this.nextNews();
    assert.equal(event && formatEvent(event), undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#subscription[Symbol.asyncDispose]();
  }
}

/** The result of the promise, or an error that says what did not arrive. */
async function within<T>(
  clock: Clock,
  what: string,
  promise: Promise<T>,
  timeoutMs: number,
): Promise<T> {
  const done = new AbortController();
  const tooLate = clock.sleep(timeoutMs, done.signal).then(
    () => assert.fail(`${what} did not arrive within ${DEADLINE_MS} ms`),
    () => new Promise<never>(() => {}),
  );
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    done.abort();
  }
}

/** Polls until the result is good. */
export async function eventually<T>(
  clock: Clock,
  what: string,
  ask: () => Promise<T | undefined>,
): Promise<T> {
  const startMs = clock.monotonicMs();
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    assert.ok(clock.monotonicMs() - startMs < DEADLINE_MS, `${what} did not arrive`);
    await clock.sleep(20);
  }
}

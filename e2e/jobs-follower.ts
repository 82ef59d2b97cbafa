// A subscriber that follows a job over every end of its server, and keeps what it saw for the checkers of streams.
//
// It goes on by itself, or it is cut again and again and resumes at the cursor that it was left with.
import type { Cursor, JobEvent, JobStore, Scope } from '@syncline/jobs';
import type { CommittedLog, JobTrace } from '@syncline/jobs/testing';
import { type Random, randomBelow } from '@syncline/kernel';

export interface FollowerOptions {
  readonly jobId: string;
  readonly scope: Scope;
  /** Also leases and metadata. Default false. */
  readonly isWhole?: boolean;
  /** Cut after some events. Default: never. */
  readonly cuts?: Random;
}

/** Events between two cuts, at most. */
const CUT_EVENTS_MAX = 50;

export class JobsFollower {
  readonly #store: JobStore;
  readonly #options: FollowerOptions;
  readonly #parts: { readonly after: Cursor | undefined; readonly events: JobEvent[] }[] = [];
  readonly #log: CommittedLog;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;
  #revision = 0;
  #error: unknown;

  /** Begins at once. What it sees is added to the log. */
  constructor(store: JobStore, log: CommittedLog, options: FollowerOptions) {
    this.#store = store;
    this.#log = log;
    this.#options = options;
    this.#ended = this.#run().catch((thrown: unknown) => {
      this.#error = thrown;
    });
  }

  /** What ended it, unless it was stopped. */
  get error(): unknown {
    return this.#error;
  }

  /** The highest revision that it was shown or told of. */
  get revision(): number {
    return this.#revision;
  }

  /** It has the last change that is for it. */
  get isLevel(): boolean {
    const { scope, isWhole = false } = this.#options;
    const [incarnation = ''] = this.#log.incarnations;
    const last = this.#log.changes(incarnation).findLast((change) => {
      if (change.kind !== 'state') return isWhole;
      const { taskId, tag } = change.state;
      return (scope.taskId ?? taskId) === taskId && (scope.tag ?? tag) === tag;
    });
    return this.#revision >= (last?.revision ?? 0);
  }

  count(kind: JobEvent['kind'], isCounted: (event: JobEvent) => boolean = () => true): number {
    const events = this.#parts.flatMap((part) => part.events);
    return events.filter((event) => event.kind === kind && isCounted(event)).length;
  }

  get cutsCount(): number {
    return this.#parts.length - 1;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  trace(): JobTrace {
    const { scope, isWhole = false } = this.#options;
    return {
      scope,
      include: isWhole ? ['lease', 'job'] : [],
      history: 'all',
      parts: this.#parts,
      isDrained: true,
      log: this.#log,
    };
  }

  async #run(): Promise<void> {
    for (let after: Cursor | undefined; !this.#stop.signal.aborted; )
      after = await this.#part(after);
  }

  /** One subscription; gives the cursor that it was left with. */
  async #part(after: Cursor | undefined): Promise<Cursor | undefined> {
    const { jobId, scope, isWhole = false, cuts } = this.#options;
    const events: JobEvent[] = [];
    this.#parts.push({ after, events });
    const subscription = this.#store.subscribe(jobId, {
      scope,
      include: isWhole ? ['lease', 'job'] : [],
      signal: this.#stop.signal,
      ...(after === undefined ? {} : { after }),
    });
    const eventsMax = cuts ? 1 + randomBelow(cuts, CUT_EVENTS_MAX) : Number.POSITIVE_INFINITY;
    for await (const event of subscription) {
      events.push(event);
      this.#log.addEvent(event);
      if ('cursor' in event) this.#revision = revisionOf(event.cursor);
      if (events.length >= eventsMax) break;
    }
    return subscription.cursor;
  }
}

function revisionOf(cursor: Cursor): number {
  return Number.parseInt(cursor.split(':')[1] ?? '', 10);
}

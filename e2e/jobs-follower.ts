// A subscriber that follows a job across restarts of its server, and records what it saw for the stream checkers.
//
// It continues by itself, or is disconnected again and again and resumes at its last cursor.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cursor, JobEvent, JobStore, Scope } from '@syncline/jobs';
import type { CommittedLog, JobTrace } from '@syncline/jobs/testing';
import { type Random, randomBelow, SynclineError } from '@syncline/kernel';

export interface FollowerOptions {
  readonly jobId: string;
  readonly scope: Scope;
  /** Also leases and metadata. Default false. */
  readonly isWhole?: boolean;
  /** Disconnect after some events. Default: never. */
  readonly cuts?: Random;
}

/** The most events between two disconnects. */
const CUT_EVENTS_MAX = 50;
const RETRY_MS = 20;

export class JobsFollower {
  readonly #store: JobStore;
  readonly #options: FollowerOptions;
  readonly #parts: { readonly after: Cursor | undefined; readonly events: JobEvent[] }[] = [];
  readonly #log: CommittedLog;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;
  #revision = 0;
  #error: unknown;

  /** Starts immediately. What it sees is added to the log. */
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

  /** The highest revision that it has seen in any event. */
  get revision(): number {
    return this.#revision;
  }

  /** Whether it has the last change in its scope. */
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

  /** It has caught up and received no `stale` since. Changes may arrive after `stale`, too. */
  get isConnected(): boolean {
    const marks = ['synced', 'live', 'stale'];
    const last = this.#parts.at(-1)?.events.findLast(({ kind }) => marks.includes(kind));
    return last !== undefined && last.kind !== 'stale';
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

  /** Runs one subscription; returns its last cursor. */
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
    try {
      for await (const event of subscription) {
        events.push(event);
        this.#log.addEvent(event);
        if ('cursor' in event) this.#revision = revisionOf(event.cursor);
        if (events.length >= eventsMax) break;
      }
    } catch (thrown) {
      // A store in this process refuses new subscribers while its database is down.
      if (!cuts || !(thrown instanceof SynclineError) || thrown.code !== 'unavailable')
        throw thrown;
      await sleep(RETRY_MS);
    }
    return subscription.cursor;
  }
}

function revisionOf(cursor: Cursor): number {
  return Number.parseInt(cursor.split(':')[1] ?? '', 10);
}

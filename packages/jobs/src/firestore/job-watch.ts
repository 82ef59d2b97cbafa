// A job that a store listens to: its picture, its feed, and whether both are up to date.
//
//   starting ──▶ live ◀──▶ stale ──▶ ended
//
// The client library hides a dead connection for minutes. So this polls for the newest changes while listening: if that
// fails, or if the listener does not receive them in time, the connection is dead.
//
// J8   Reads wait until the listener has received all that this store has itself written or returned before.
// J18  A live listener searches for expired leases every half of the shortest TTL.
import { type QuerySnapshot, Timestamp } from '@google-cloud/firestore';
import { abortedError, backoffMs, SynclineError } from '@syncline/kernel';
import { noSuchJob } from '../core/refusals.js';
import type { TaskRow } from '../core/rows.js';
import type { JobFilter } from '../engine/changes.js';
import { JobFeed, type JobFeedSource, type SubscriberQuota } from '../engine/job-feed.js';
import type { EngineDeps } from '../engine/store-adapter.js';
import { limitValues } from '../limits.js';
import { storeUnreachable } from '../reconnect.js';
import { type FirestoreCalls, type FirestoreOptions, firestoreError } from './firestore-calls.js';
import type { FirestoreWrites } from './firestore-writes.js';
import * as layout from './job-documents.js';
import { JobPicture } from './job-picture.js';

export interface JobWatchDeps extends EngineDeps {
  readonly calls: FirestoreCalls;
  readonly jobId: string;
  readonly quota: SubscriberQuota;
  readonly writes: Pick<FirestoreWrites, 'declareLost'>;
  /** Called when the picture has grown or the watch has ended. */
  readonly onChanged: (watch: JobWatch) => void;
}

/** The shortest TTL is 1 s, and expired leases are searched for every half TTL. */
const TICK_MS = 500;

export class JobWatch implements JobFeedSource {
  readonly #deps: JobWatchDeps;
  readonly #options: FirestoreOptions;
  readonly #running: Promise<void>;
  readonly #waiting: (() => void)[] = [];
  /** Aborted when the connection is lost or the watch has ended. */
  #connection = new AbortController();
  #phase: 'starting' | 'live' | 'stale' | 'ended' = 'starting';
  #picture: JobPicture | undefined;
  /** Its base is that of the picture once the watch is live. */
  readonly feed: JobFeed;
  /** Failed attempts in a row. */
  #failures = 0;
  /** Undefined if it was stopped because it was unused. */
  #endedBy: SynclineError | undefined;
  /** This store has returned data as of this commit: later reads must not return older data. */
  #shown = 0;
  usedAtMs: number;
  /** Firestore's clock minus the local monotonic clock, as of the newest snapshot. */
  #clockOffsetMs = 0;

  constructor(deps: JobWatchDeps, options: FirestoreOptions) {
    this.#deps = deps;
    this.#options = options;
    this.usedAtMs = deps.clock.monotonicMs();
    const { jobId } = deps;
    this.feed = new JobFeed({ ...deps, source: this }, { jobId, base: '', history: 'latest' });
    this.#running = this.#run();
  }

  /** Undefined if the picture may be outdated. */
  get current(): JobPicture | undefined {
    const isBehind = (this.#picture?.commit ?? 0) < this.#shown;
    return this.#phase === 'live' && !isBehind ? this.#picture : undefined;
  }

  get bytes(): number {
    return this.#picture?.bytes ?? 0;
  }

  get isInUse(): boolean {
    return this.feed.subscribersCount > 0 || this.#waiting.length > 0;
  }

  get hasEnded(): boolean {
    return this.#phase === 'ended';
  }

  /** Waits until the picture may be read. Undefined if the watch was stopped. Throws if it ended with an error. */
  async read(signal: AbortSignal | undefined): Promise<JobPicture | undefined> {
    this.usedAtMs = this.#deps.clock.monotonicMs();
    await this.#until(() => this.current !== undefined, signal);
    return this.current;
  }

  /** Call it after reading or writing without the picture: later reads from it must not be older. */
  noteShown(commit: number): void {
    this.#shown = Math.max(this.#shown, commit);
  }

  /** This store has deleted an incarnation of the job, possibly not the current one. */
  onDeleted(incarnation: string): void {
    if (incarnation === this.#picture?.row.incarnation) this.#endDeleted();
  }

  async stop(error?: SynclineError): Promise<void> {
    this.#end(error, (feed) => feed.close());
    await this.#running;
  }

  revision(): number {
    return this.#picture?.head.revision ?? 0;
  }

  async view(filter: JobFilter, signal: AbortSignal) {
    const picture = await this.read(signal);
    if (!picture) throw new SynclineError('closed', 'the job store is closed');
    return picture.view(filter);
  }

  /** A cursor may come from another process that has seen more. */
  async reach(revision: number, signal: AbortSignal): Promise<void> {
    const picture = await this.read(signal);
    if (!picture || picture.head.revision >= revision) return;
    const commit = await this.#newest(signal);
    await this.#until(() => picture !== this.#picture || picture.commit >= commit, signal);
  }

  async #run(): Promise<void> {
    const { calls, clock, random, metrics } = this.#deps;
    const { reconnect } = this.#options;
    const spread = { ...reconnect, jitter: 'half' } as const;
    let sinceMs = 0;
    while (!this.hasEnded) {
      this.#connection = new AbortController();
      const { signal } = this.#connection;
      try {
        if (this.#failures > 0)
          await clock.sleep(backoffMs(this.#failures - 1, spread, random), signal);
        await calls.ready();
        await this.#listen(signal);
      } catch (thrown) {
        if (this.hasEnded) return;
        const error = firestoreError('listening to the job', thrown, 'not-applied');
        calls.recordConnectionFailure();
        // Fail at once if a retry cannot succeed: refused credentials, an unreadable document.
        if (!error.retryable || this.#failures >= reconnect.attempts) {
          this.#log('error', '🔴 listener abandoned after repeated failures', error);
          const reason = { cursor: undefined, cause: error };
          const failure = error.retryable ? storeUnreachable(reconnect, reason) : error;
          return this.#end(failure, (feed) => feed.fail(failure));
        }
        if (this.#phase !== 'stale') {
          sinceMs = clock.nowMs();
          this.#log('warn', '🟡 listener connection lost', error);
        }
        this.#failures += 1;
        metrics.add('syncline_jobs_listener_reconnects_total');
        this.#phase = 'stale';
        this.feed.markStale({ sinceMs, attempt: this.#failures });
      } finally {
        this.#connection.abort();
      }
    }
  }

  /** Returns when it is no longer needed, and throws when the connection is lost. */
  async #listen(signal: AbortSignal): Promise<void> {
    let unsubscribe = () => {};
    const { states } = this.#deps.calls.documents(this.#deps.jobId);
    const stream = new Promise<never>((_, reject) => {
      unsubscribe = states.onSnapshot((snapshot) => {
        try {
          this.#onSnapshot(snapshot);
        } catch (thrown) {
          reject(thrown);
        }
      }, reject);
    });
    try {
      await Promise.race([stream, this.#pollUntilIdle(signal)]);
    } finally {
      unsubscribe();
    }
  }

  /** Checks the connection, searches for lost leases, and returns when the listener is no longer used. */
  async #pollUntilIdle(signal: AbortSignal): Promise<void> {
    const { clock, jobId } = this.#deps;
    const { pollMs, reachTimeoutMs, startTimeoutMs, listenIdleMs } = this.#options;
    let commit = await this.#newest(signal); // a refusal is reported here at once, but never by the stream
    let polledAtMs = clock.monotonicMs();
    let reachedAtMs = polledAtMs;
    let searchedAtMs = polledAtMs;
    let wasLive = false;
    for (;;) {
      await clock.sleep(Math.min(pollMs, TICK_MS), signal);
      const nowMs = clock.monotonicMs();
      if (this.isInUse) this.usedAtMs = nowMs;
      if (nowMs - this.usedAtMs >= listenIdleMs) return void this.stop();
      const isLive = this.#phase === 'live';
      const isReached = isLive && (this.#picture?.commit ?? 0) >= commit;
      if (isReached || isLive !== wasLive) reachedAtMs = nowMs;
      wasLive = isLive;
      // The first snapshot is delivered as a whole, however large the job is.
      const timeoutMs = isLive ? reachTimeoutMs : startTimeoutMs;
      if (nowMs - reachedAtMs >= timeoutMs) {
        const message = `the listener of job "${jobId}" did not receive the newest changes within ${timeoutMs} ms`;
        throw new SynclineError('unavailable', message);
      }
      if (!isReached) continue;
      if (this.#failures > 0) this.#log('info', 'listening to a job again');
      this.#failures = 0;
      if (nowMs - polledAtMs >= pollMs) {
        polledAtMs = nowMs;
        commit = await this.#newest(signal);
        reachedAtMs = clock.monotonicMs();
      }
      const picture = this.#picture;
      if (!picture || nowMs - searchedAtMs < picture.shortestTtlMs / 2) continue;
      searchedAtMs = nowMs;
      // If it fails, the next search will find them; the poll detects a lost connection.
      await this.#declareLost(picture, nowMs + this.#clockOffsetMs).catch((thrown) =>
        this.#log('debug', 'could not search for lost leases', thrown),
      );
    }
  }

  /** `nowMs` is an estimate of Firestore's clock: the transaction that declares a lease lost checks it again. */
  async #declareLost(picture: JobPicture, nowMs: number): Promise<void> {
    const { calls, jobId, writes } = this.#deps;
    const { incarnation } = picture.row;
    const { leases } = calls.documents(jobId);
    const { listStatesMax: pageMax } = limitValues;
    const oldest = Timestamp.fromMillis(Math.floor(nowMs - picture.shortestTtlMs));
    for (let after = new Timestamp(0, 0); ; ) {
      const page = leases
        .where('renewedAt', '<=', oldest)
        .where('renewedAt', '>', after)
        .orderBy('renewedAt')
        .limit(pageMax);
      const what = `looking for lost leases of job "${jobId}"`;
      const { docs } = await calls.read(what, () => page.get());
      const overdue = docs.flatMap((lease) => {
        const task = picture.tasks.get(Number(lease.id));
        if (!task || !layout.mustRenew(task) || layout.leaseEndMs(lease, task.epoch) > nowMs)
          return [];
        return picture.cells.hasUnfinished(task.taskId) ? [task] : [];
      });
      const declare = (task: TaskRow) => writes.declareLost({ jobId, incarnation, ...task });
      await Promise.all(overdue.map(declare));
      const last: unknown = docs.at(-1)?.get('renewedAt');
      if (docs.length < pageMax || !(last instanceof Timestamp)) return;
      after = last;
    }
  }

  #newest(signal: AbortSignal): Promise<number> {
    const { calls, jobId } = this.#deps;
    // The client library retries refused credentials for some seconds before it reports them.
    const bound = this.#phase === 'starting' ? {} : { timeoutMs: this.#options.reachTimeoutMs };
    return calls.newestCommit(jobId, { signal, ...bound });
  }

  #onSnapshot(snapshot: QuerySnapshot): void {
    const { clock, metrics, onChanged } = this.#deps;
    if (this.hasEnded) return;
    const isFirst = this.#phase !== 'live'; // on this connection: it is complete
    this.#clockOffsetMs = snapshot.readTime.toMillis() - clock.monotonicMs();
    const changes = snapshot.docChanges();
    const documents = changes.flatMap(({ type, doc }) => (type === 'removed' ? [] : [doc]));
    const copy = changes.find(({ doc }) => doc.id === layout.JOB_COPY);
    const incarnation = copy && layout.readJob(copy.doc)?.incarnation;
    const picture = this.#picture;
    const isOther = copy !== undefined && incarnation !== picture?.row.incarnation;
    const isGone = isFirst ? !copy : isOther || copy?.type === 'removed';
    if (isGone) {
      this.#endDeleted();
      return;
    }
    if (isOther) this.#picture = JobPicture.of(documents);
    else if (picture) {
      const { fresh, skippedVersions } = picture.apply(documents);
      metrics.add('syncline_jobs_version_drift_total', skippedVersions);
      if (fresh.length > 0) this.feed.publishStored(fresh);
    }
    if (isFirst && incarnation !== undefined) {
      this.#phase = 'live';
      if (this.feed.base !== incarnation) this.feed.resetTo(incarnation);
      this.feed.markLive();
    }
    onChanged(this);
    this.#wake();
  }

  #endDeleted(): void {
    this.#end(noSuchJob(this.#deps.jobId), (feed) => feed.endDeleted());
  }

  #end(error: SynclineError | undefined, endFeed: (feed: JobFeed) => void): void {
    if (this.hasEnded) return;
    this.#phase = 'ended';
    this.#endedBy = error;
    this.#connection.abort();
    this.#deps.onChanged(this);
    this.#wake();
    endFeed(this.feed);
  }

  #wake(): void {
    for (const resume of this.#waiting.splice(0)) resume();
  }

  /** Resolves once `isSo` holds or the watch was stopped. Throws if the watch fails, and on abort. */
  async #until(isSo: () => boolean, signal: AbortSignal | undefined): Promise<void> {
    const wake = () => this.#wake();
    signal?.addEventListener('abort', wake);
    try {
      while (!this.hasEnded && !isSo()) {
        if (signal?.aborted) throw abortedError('waiting for Firestore', signal);
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
      }
      if (this.#endedBy) throw this.#endedBy;
    } finally {
      signal?.removeEventListener('abort', wake);
    }
  }

  #log(level: 'debug' | 'info' | 'warn' | 'error', message: string, thrown?: unknown): void {
    const { jobId } = this.#deps;
    const error = thrown === undefined ? {} : { error: SynclineError.from(thrown).message };
    this.#deps.logger[level](message, { jobId, ...error });
  }
}

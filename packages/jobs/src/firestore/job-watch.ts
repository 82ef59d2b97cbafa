// A job that a store listens to: its picture, its feed, and whether both are up to date. There is at most one per job,
// started by the first subscription or aggregate, and stopped when it has not been used for a while.
//
//   starting ──▶ live ◀──▶ stale        a failed poll or a stream error means that the connection was lost
//       └──────────┴─────────┴──▶ ended
//
// The client library hides a dead connection for minutes. So this polls for the newest changes while listening: if that
// fails, or if the listener does not receive them in time, the connection is dead.
//
// J8  Reads wait until the listener has received everything up to what this store has itself written or returned
//     before. They never use the picture of a listener that is not live.
import { type DocumentSnapshot, type QuerySnapshot, Timestamp } from '@google-cloud/firestore';
import { abortedError, assert, SynclineError } from '@syncline/kernel';
import { noSuchJob } from '../core/refusals.js';
import type { JobFilter } from '../engine/changes.js';
import {
  JobFeed,
  type JobFeedSource,
  type JobFeedView,
  type SubscriberQuota,
} from '../engine/job-feed.js';
import type { EngineDeps, LeaseRef } from '../engine/store-adapter.js';
import type { TaskLease } from '../job.js';
import { jobsLimits } from '../limits.js';
import { outOfReach, type ReconnectOptions, reconnectDelayMs } from '../reconnect.js';
import { type FirestoreCalls, firestoreError } from './firestore-calls.js';
import {
  JOB_COPY,
  type JobDocuments,
  latestCommit,
  leaseEndMs,
  mustRenew,
  readJob,
} from './job-documents.js';
import { JobPicture } from './job-picture.js';

export interface JobWatchDeps extends EngineDeps {
  readonly calls: FirestoreCalls;
  readonly documents: JobDocuments;
  readonly quota: SubscriberQuota;
  readonly declareLost: (lease: LeaseRef) => Promise<TaskLease | undefined>;
  /** Called when the picture has grown or the watch has ended. */
  readonly onChanged: (watch: JobWatch) => void;
}

export interface JobWatchOptions {
  readonly reconnect: Required<ReconnectOptions>;
  readonly pollMs: number;
  readonly reachTimeoutMs: number;
  readonly startTimeoutMs: number;
  readonly listenIdleMs: number;
}

/** The shortest TTL is 1 s, and expired leases are searched for every half TTL. */
const TICK_MS = 500;

export class JobWatch implements JobFeedSource {
  readonly #deps: JobWatchDeps;
  readonly #options: JobWatchOptions;
  readonly #stop = new AbortController();
  readonly #waiting = new Set<() => void>();
  readonly #running: Promise<void>;
  #phase: 'starting' | 'live' | 'stale' | 'ended' = 'starting';
  #picture: JobPicture | undefined;
  #feed: JobFeed | undefined;
  /** Undefined if it was stopped because it was unused. */
  #endedBy: SynclineError | undefined;
  /** This store has returned data as of this commit: later reads must not return older data. */
  #shown = 0;
  #readersCount = 0;
  usedAtMs: number;
  /** Firestore's clock minus the local monotonic clock, as of the newest snapshot. */
  #clockOffsetMs = 0;

  constructor(deps: JobWatchDeps, options: JobWatchOptions) {
    this.#deps = deps;
    this.#options = options;
    this.usedAtMs = deps.clock.monotonicMs();
    this.#running = this.#run(this.#stop.signal);
  }

  /** Undefined if the picture may be outdated. */
  get current(): JobPicture | undefined {
    const isBehind = (this.#picture?.commit ?? 0) < this.#shown;
    return this.#phase === 'live' && !isBehind ? this.#picture : undefined;
  }

  get feed(): JobFeed {
    assert(this.#feed !== undefined, 'a watch that was read has a feed');
    return this.#feed;
  }

  get bytes(): number {
    return this.#phase === 'ended' ? 0 : (this.#picture?.bytes ?? 0);
  }

  get isInUse(): boolean {
    return (this.#feed?.subscribersCount ?? 0) > 0 || this.#readersCount > 0;
  }

  get hasEnded(): boolean {
    return this.#phase === 'ended';
  }

  /** Waits until the picture may be read. Undefined if the watch was stopped. Throws if it ended with an error. */
  async read(signal: AbortSignal | undefined): Promise<JobPicture | undefined> {
    this.usedAtMs = this.#deps.clock.monotonicMs();
    this.#readersCount += 1;
    try {
      await this.#until(() => this.current !== undefined, signal);
      return this.current;
    } finally {
      this.#readersCount -= 1;
    }
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
    this.#end(error);
    this.#feed?.close();
    await this.#running;
  }

  revision(): number {
    return this.#picture?.revision ?? 0;
  }

  async view(filter: JobFilter, signal: AbortSignal): Promise<JobFeedView> {
    const picture = await this.read(signal);
    if (!picture) throw new SynclineError('closed', 'the job store is closed');
    return picture.view(filter);
  }

  /** A cursor may come from another process that has seen more. */
  async reach(revision: number, signal: AbortSignal): Promise<void> {
    const picture = await this.read(signal);
    if (!picture || picture.revision >= revision) return;
    const commit = await this.#newest(signal);
    await this.#until(() => picture !== this.#picture || picture.commit >= commit, signal);
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { calls, clock, random, metrics } = this.#deps;
    const { reconnect } = this.#options;
    let staleSinceMs = 0;
    for (let attempt = 0; !signal.aborted; ) {
      try {
        return await this.#listen(signal, () => {
          if (attempt > 0) this.#log('info', 'listening to a job again');
          attempt = 0;
        });
      } catch (thrown) {
        if (signal.aborted) return;
        const error = firestoreError('listening to the job', thrown, 'not-applied');
        calls.noteTrouble();
        // Fail at once if a retry cannot succeed: refused credentials, an unreadable document.
        if (!error.retryable || attempt >= reconnect.attempts) return this.#fail(error);
        if (attempt === 0) {
          staleSinceMs = clock.nowMs();
          this.#log('warn', '🟡 listener connection lost', error);
        }
        attempt += 1;
        metrics.add('syncline_jobs_listener_reconnects_total');
        this.#phase = 'stale';
        this.#feed?.markStale({ sinceMs: staleSinceMs, attempt });
      }
      const waitMs = reconnectDelayMs(attempt - 1, reconnect, random);
      await clock.sleep(waitMs, signal).catch(() => {});
    }
  }

  /** Returns when it is no longer needed, and throws when the connection is lost. */
  async #listen(signal: AbortSignal, onLive: () => void): Promise<void> {
    const { calls, documents } = this.#deps;
    await calls.ready();
    const stop = new AbortController();
    const stopNow = () => stop.abort();
    signal.addEventListener('abort', stopNow);
    let isShown = false;
    let unsubscribe = () => {};
    const stream = new Promise<never>((_, reject) => {
      unsubscribe = documents.states.onSnapshot((snapshot) => {
        try {
          this.#onSnapshot(snapshot, !isShown);
          isShown = true;
          this.#wake();
        } catch (thrown) {
          reject(thrown);
        }
      }, reject);
    });
    const look = async () => {
      await this.#newest(stop.signal); // a refusal is reported here at once, but never by the stream
      // The first snapshot is delivered as a whole, however large the job is.
      await this.#until(() => isShown, stop.signal, this.#options.startTimeoutMs);
      onLive();
      this.#markLive();
      await this.#pollUntilIdle(stop.signal);
    };
    try {
      await Promise.race([stream, look()]);
    } finally {
      unsubscribe();
      signal.removeEventListener('abort', stopNow);
      stop.abort();
    }
  }

  /** Polls, searches for lost leases, and returns when the listener is no longer used. */
  async #pollUntilIdle(signal: AbortSignal): Promise<void> {
    const { clock, logger, documents } = this.#deps;
    const { pollMs, reachTimeoutMs, listenIdleMs } = this.#options;
    let polledAtMs = clock.monotonicMs();
    let searchedAtMs = polledAtMs;
    for (;;) {
      await clock.sleep(Math.min(pollMs, TICK_MS), signal);
      const nowMs = clock.monotonicMs();
      if (this.isInUse) this.usedAtMs = nowMs;
      if (nowMs - this.usedAtMs >= listenIdleMs) return void this.stop();
      if (nowMs - polledAtMs >= pollMs) {
        polledAtMs = nowMs;
        const commit = await this.#newest(signal);
        await this.#until(() => (this.#picture?.commit ?? 0) >= commit, signal, reachTimeoutMs);
      }
      const picture = this.#picture;
      if (!picture || nowMs - searchedAtMs < picture.shortestTtlMs / 2) continue;
      searchedAtMs = nowMs;
      await declareOverdue(this.#deps, picture, nowMs + this.#clockOffsetMs).catch((thrown) => {
        // The next search will find them; the poll detects a lost connection.
        const error = SynclineError.from(thrown).message;
        logger.debug('could not search for lost leases', { jobId: documents.jobId, error });
      });
    }
  }

  async #newest(signal: AbortSignal): Promise<number> {
    const { calls, documents } = this.#deps;
    const what = `reading the newest changes of job "${documents.jobId}"`;
    // The client library retries refused credentials for some seconds before it reports them.
    const bound = this.#phase === 'starting' ? {} : { timeoutMs: this.#options.reachTimeoutMs };
    const found = await calls.read(what, () => documents.newest.get(), { signal, ...bound });
    return latestCommit(found.docs);
  }

  /** `isFirst`: the first snapshot on this connection, which is complete. */
  #onSnapshot(snapshot: QuerySnapshot, isFirst: boolean): void {
    if (this.#phase === 'ended') return;
    this.#clockOffsetMs = snapshot.readTime.toMillis() - this.#deps.clock.monotonicMs();
    const changes = snapshot.docChanges();
    const documents = changes.flatMap(({ type, doc }) => (type === 'removed' ? [] : [doc]));
    const metadata = documents.find(({ id }) => id === JOB_COPY);
    const isRemoved = changes.some(({ type, doc }) => type === 'removed' && doc.id === JOB_COPY);
    const incarnation = metadata && readJob(metadata)?.incarnation;
    const isOther = incarnation !== undefined && incarnation !== this.#picture?.row.incarnation;
    if (isRemoved || (isFirst && !metadata) || (isOther && !isFirst)) this.#endDeleted();
    else if (isOther) this.#picture = JobPicture.of(documents);
    else if (this.#picture) {
      const newer = this.#picture.apply(documents);
      this.#deps.metrics.add('syncline_jobs_version_drift_total', this.#picture.takeSkipped());
      if (newer.length > 0) this.#feed?.publishStored(newer);
      this.#deps.onChanged(this);
    }
  }

  #markLive(): void {
    if (this.#phase === 'ended' || !this.#picture) return;
    const { jobId, incarnation } = this.#picture.row;
    this.#phase = 'live';
    this.#feed ??= new JobFeed(
      { ...this.#deps, source: this },
      { jobId, base: incarnation, history: 'latest' },
    );
    if (this.#feed.base !== incarnation) this.#feed.resetTo(incarnation);
    this.#feed.markLive();
    this.#deps.onChanged(this);
    this.#wake();
  }

  #fail(error: SynclineError): void {
    this.#log('error', '🔴 listener abandoned after repeated failures', error);
    const { reconnect } = this.#options;
    const failure = error.retryable
      ? outOfReach(reconnect, { cursor: undefined, cause: error })
      : error;
    this.#end(failure);
    this.#feed?.fail(failure);
  }

  #endDeleted(): void {
    this.#end(noSuchJob(this.#deps.documents.jobId));
    this.#feed?.endDeleted();
  }

  #end(error: SynclineError | undefined): void {
    if (this.#phase === 'ended') return;
    this.#phase = 'ended';
    this.#endedBy = error;
    this.#stop.abort();
    this.#deps.onChanged(this);
    this.#wake();
  }

  #wake(): void {
    for (const resume of this.#waiting) resume();
  }

  /** Resolves once `isSo` holds or the watch was stopped. Throws if the watch fails, on abort, and on timeout. */
  #until(isSo: () => boolean, signal: AbortSignal | undefined, timeoutMs?: number): Promise<void> {
    return new Promise((resolve, reject) => {
      let isLate = false;
      const look = () => {
        const isEnded = this.#phase === 'ended';
        if (!isEnded && !isSo() && !signal?.aborted && !isLate) return;
        this.#waiting.delete(look);
        signal?.removeEventListener('abort', look);
        timer?.cancel();
        if (signal?.aborted) reject(abortedError('waiting for Firestore', signal));
        else if (isEnded && this.#endedBy) reject(this.#endedBy);
        else if (isEnded || isSo()) resolve();
        else reject(this.#tooLate(timeoutMs));
      };
      const onLate = () => {
        isLate = true;
        look();
      };
      const timer =
        timeoutMs === undefined ? undefined : this.#deps.clock.setTimer(timeoutMs, onLate);
      this.#waiting.add(look);
      signal?.addEventListener('abort', look);
      look();
    });
  }

  #tooLate(timeoutMs: number | undefined): SynclineError {
    const { jobId } = this.#deps.documents;
    const message = `the listener of job "${jobId}" did not receive the newest changes within ${timeoutMs} ms`;
    return new SynclineError('unavailable', message);
  }

  #log(level: 'info' | 'warn' | 'error', message: string, error?: SynclineError): void {
    const { jobId } = this.#deps.documents;
    this.#deps.logger[level](message, { jobId, ...(error && { error: error.message }) });
  }
}

/**
 * Declares expired leases lost. `nowMs` is an estimate of Firestore's clock and only selects which leases to check: the
 * transaction that declares one lost compares the renewal with its own read time.
 *
 * J18  A live listener searches every half of the shortest TTL, so a dead task is detected within one and a half of its
 *      own TTL.
 */
async function declareOverdue(
  { calls, documents, logger, metrics, declareLost }: JobWatchDeps,
  picture: JobPicture,
  nowMs: number,
): Promise<void> {
  const { jobId } = documents;
  const declareIfOver = async (document: DocumentSnapshot) => {
    const task = picture.tasks.get(Number(document.id));
    if (!task || !mustRenew(task) || !picture.cells.hasUnfinished(task.taskId)) return;
    const { taskId, epoch } = task;
    if ((leaseEndMs(document, epoch) ?? Number.POSITIVE_INFINITY) > nowMs) return;
    const { incarnation } = picture.row;
    const lost = await declareLost({ jobId, incarnation, taskId, epoch });
    if (!lost) return;
    const { revision } = lost;
    logger.warn('🟡 a task lost its lease', { jobId, taskId, epoch, revision });
    metrics.add('syncline_jobs_leases_lost_total');
  };
  const { value: pageMax } = jobsLimits.listStatesMax;
  const oldest = Timestamp.fromMillis(Math.floor(nowMs - picture.shortestTtlMs));
  for (let after = new Timestamp(0, 0); ; ) {
    const page = documents.leases
      .where('renewedAt', '<=', oldest)
      .where('renewedAt', '>', after)
      .orderBy('renewedAt')
      .limit(pageMax);
    const what = `looking for lost leases of job "${jobId}"`;
    const { docs } = await calls.read(what, () => page.get());
    await Promise.all(docs.map(declareIfOver));
    const last: unknown = docs.at(-1)?.get('renewedAt');
    if (docs.length < pageMax || !(last instanceof Timestamp)) return;
    after = last;
  }
}

// One job that this store listens to: its cache, its feed, and whether both are up to date.
//
// There is at most one per job, started by the first subscription or aggregate read, and stopped when nobody
// has needed it for a while. A cache whose listener is not live is not read.
//
// J8   A read never shows a revision without those before it: our own writes enter the cache at once if they
//      follow it directly; otherwise reads wait until the listener has brought what lies between.
import { type Clock, type Logger, type Random, SynclineError } from '@syncline/kernel';
import type { JobChange, JobRow } from '../core/rows.js';
import {
  JobFeed,
  type JobFeedSource,
  type JobFeedView,
  type SubscriberQuota,
} from '../engine/job-feed.js';
import { type JobFilter, matchesFilter } from '../engine/job-filter.js';
import { encodeChange, type StoredChange } from '../engine/stored-change.js';
import { jobsLimits } from '../limits.js';
import type { JobsMetrics } from '../metrics-list.js';
import { outOfReach } from '../reconnect.js';
import type { GroupResult, SeenJob } from './commit-group.js';
import type { JobDocuments } from './document-refs.js';
import type { FirestoreCalls } from './firestore-calls.js';
import type { CheckedFirestoreOptions } from './firestore-options.js';
import { JobCache } from './job-cache.js';
import { type JobRecord, readJobDocument } from './job-document.js';
import { JobListener, type ListenerTarget } from './job-listener.js';
import type { JobWriter } from './job-writer.js';
import type { ListenedBatch } from './listened-batch.js';
import { LostLeaseRounds } from './lost-lease-rounds.js';
import type { StoreReports } from './store-reports.js';
import { WakeUps } from './wake-ups.js';

export interface JobViewDeps {
  readonly calls: FirestoreCalls;
  readonly documents: JobDocuments;
  /** Asked each time: a writer that is idle may be forgotten. */
  readonly writer: () => JobWriter;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: JobsMetrics;
  readonly quota: SubscriberQuota;
  readonly reports: StoreReports;
  /** By how much its cache has grown or shrunk. */
  readonly onGrown: (bytes: number) => void;
  /** It will not be live again. */
  readonly onEnded: () => void;
}

export class JobView implements JobFeedSource, ListenerTarget {
  readonly feed: JobFeed;
  readonly #deps: JobViewDeps;
  readonly #options: CheckedFirestoreOptions;
  readonly #listener: JobListener;
  readonly #rounds: LostLeaseRounds;
  readonly #changed = new WakeUps();
  #cache: JobCache;
  #phase: 'starting' | 'live' | 'stale' | 'ended' = 'starting';
  /** Transactions of this store have seen the job at this revision: reads must not show less. */
  #seenRevision = 0;
  #usedAtMs: number;
  #readersCount = 0;
  #notedBytes = 0;
  #endedBy = new SynclineError('closed', 'the job store is closed');

  constructor(deps: JobViewDeps, options: CheckedFirestoreOptions, job: JobRow) {
    this.#deps = deps;
    this.#options = options;
    this.#cache = new JobCache(job);
    this.#usedAtMs = deps.clock.monotonicMs();
    const { clock, metrics, quota } = deps;
    this.feed = new JobFeed(
      { clock, metrics, quota, source: this },
      {
        jobId: job.jobId,
        base: job.incarnation,
        history: 'latest',
        ringChangesMax: 0,
        ringBytesMax: 0,
      },
    );
    const cache = () => (this.#phase === 'live' ? this.#cache : undefined);
    this.#rounds = new LostLeaseRounds({ ...deps, cache });
    this.#listener = new JobListener(deps, options, this);
  }

  start(): void {
    this.#listener.start();
  }

  /** Undefined: what is cached may be old. */
  get liveCache(): JobCache | undefined {
    const isComplete = this.#cache.revision >= this.#seenRevision;
    return this.#phase === 'live' && isComplete ? this.#cache : undefined;
  }

  get cacheBytes(): number {
    return this.#phase === 'ended' ? 0 : this.#cache.bytes;
  }

  /** Waits until the cache may be read. Throws why it never will be. */
  async read(signal?: AbortSignal): Promise<JobCache> {
    this.#usedAtMs = this.#deps.clock.monotonicMs();
    this.#readersCount += 1;
    try {
      for (;;) {
        if (this.#phase === 'ended') throw this.#endedBy;
        if (this.liveCache) return this.liveCache;
        await this.#changed.wait(signal);
      }
    } finally {
      this.#readersCount -= 1;
    }
  }

  /** Somebody subscribes to it, or waits for what it will hold. */
  get isInUse(): boolean {
    return this.feed.subscribersCount > 0 || this.#readersCount > 0;
  }

  get hasEnded(): boolean {
    return this.#phase === 'ended';
  }

  get numTasks(): number {
    return this.#cache.info.numTasks;
  }

  get usedAtMs(): number {
    return this.#usedAtMs;
  }

  /** What was read or written past the cache: it must not show less afterwards. */
  noteSeen({ incarnation, revision }: SeenJob): void {
    if (incarnation !== this.#cache.incarnation) return;
    this.#seenRevision = Math.max(this.#seenRevision, revision);
  }

  /** What a transaction of this store has seen and done. */
  onCommitted({ commit, seen }: GroupResult<unknown>): void {
    if (seen?.incarnation !== this.#cache.incarnation) return;
    this.noteSeen(seen);
    const isNext = commit?.revisionBefore === this.#cache.revision;
    if (commit && isNext && this.#phase === 'live') this.#take(commit.changes);
    this.#changed.wake();
  }

  revision(): number {
    return this.#cache.revision;
  }

  async view(filter: JobFilter, signal: AbortSignal): Promise<JobFeedView> {
    const cache = await this.read(signal);
    const latest = cache.view();
    const pages = (after: number) => filteredPages(latest.above(after), filter);
    return { revision: cache.revision, compactedTo: 0, latest: pages, changes: pages, close() {} };
  }

  /** A cursor may be of another process that has seen more; the job document says what there is. */
  async reach(revision: number, signal: AbortSignal): Promise<void> {
    const cache = await this.read(signal);
    if (cache.revision >= revision) return;
    const { calls, documents } = this.#deps;
    const what = `reading job "${documents.jobId}"`;
    const record = readJobDocument(await calls.read(what, () => documents.job.get()));
    const isSame = record?.job.incarnation === cache.incarnation;
    if (isSame && record.head.revision >= revision) await this.whenReached(revision, signal);
  }

  async whenReached(revision: number, signal: AbortSignal): Promise<void> {
    while (this.#cache.revision < revision && this.#phase !== 'ended') {
      await this.#changed.wait(signal);
    }
  }

  onBatch(batch: ListenedBatch): void {
    this.#rounds.noteTime(batch.readAtMs);
    const isOther = batch.job && batch.job.incarnation !== this.#cache.incarnation;
    // Before the first check a job that is not here may be on its way.
    const isGone = batch.isGone && this.#cache.revision > 0;
    if (isGone || (isOther && this.#phase === 'live')) {
      this.#endDeleted();
      return;
    }
    if (isOther && batch.job) this.#beginAnew(batch.job);
    const { incarnation } = this.#cache;
    const changes = batch.changes.filter((each) => each.incarnation === incarnation);
    this.#take(changes.map(({ change }) => change));
    this.#changed.wake();
  }

  onJob(record: JobRecord | undefined): boolean {
    const isSame = record?.job.incarnation === this.#cache.incarnation;
    if (record && (isSame || this.#phase !== 'live')) {
      if (!isSame) this.#beginAnew(record.job);
      return true;
    }
    this.#endDeleted();
    return false;
  }

  onLive(): void {
    const { incarnation } = this.#cache;
    if (this.#phase === 'live' || this.#phase === 'ended') return;
    this.#phase = 'live';
    if (this.feed.base !== incarnation) this.feed.reset(incarnation);
    this.feed.markLive();
    this.#rounds.plan();
    this.#changed.wake();
  }

  onStale(stale: { readonly sinceMs: number; readonly attempt: number }): void {
    this.#phase = 'stale';
    this.feed.markStale(stale);
    this.#changed.wake();
  }

  onFailed(error: SynclineError): void {
    const { reconnect } = this.#options;
    const failure = error.retryable
      ? outOfReach(reconnect, { cursor: undefined, cause: error })
      : error;
    this.#end(failure);
    this.feed.fail(failure);
  }

  isNeeded(): boolean {
    const nowMs = this.#deps.clock.monotonicMs();
    if (this.isInUse) this.#usedAtMs = nowMs;
    const isNeeded = nowMs - this.#usedAtMs < this.#options.listenIdleMs;
    if (!isNeeded) void this.stop();
    return isNeeded;
  }

  /** This store has deleted an incarnation of the job, maybe not the one that is here now. */
  onDeleted(incarnation: string): void {
    if (incarnation === this.#cache.incarnation) this.#endDeleted();
  }

  #endDeleted(): void {
    if (this.#phase === 'ended') return;
    const { jobId } = this.#deps.documents;
    const error = new SynclineError('not-found', `job "${jobId}" was deleted`, {
      details: { jobId },
    });
    this.#end(error);
    this.feed.endDeleted();
  }

  /** Resolves once nothing of it is left. */
  async stop(): Promise<void> {
    this.#end(this.#endedBy);
    this.feed.close();
    await this.#listener.stop();
  }

  /** Another incarnation of the job was found after a reconnect. */
  #beginAnew(job: JobRow): void {
    this.#cache = new JobCache(job);
    this.#seenRevision = 0;
  }

  #end(error: SynclineError): void {
    if (this.#phase === 'ended') return;
    this.#phase = 'ended';
    this.#endedBy = error;
    void this.#listener.stop();
    this.#rounds.stop();
    this.#changed.wake();
    this.#deps.onEnded();
    this.#noteBytes();
  }

  #take(changes: readonly JobChange[]): void {
    const risen = changes.filter(({ revision }) => revision > this.#cache.revision);
    const skipped = this.#cache.skippedVersions(risen);
    const applied = this.#cache.apply(risen);
    if (skipped > 0) this.#deps.metrics.add('syncline_jobs_version_drift_total', skipped);
    // What another incarnation has is not published but read anew, once it is complete.
    const isPublished = this.feed.base === this.#cache.incarnation;
    if (isPublished && applied.length > 0) this.feed.publish(applied.map(encodeChange));
    if (applied.some(({ kind }) => kind === 'lease')) this.#rounds.plan();
    this.#noteBytes();
  }

  #noteBytes(): void {
    const bytes = this.cacheBytes;
    const grownBytes = bytes - this.#notedBytes;
    this.#notedBytes = bytes;
    if (grownBytes !== 0) this.#deps.onGrown(grownBytes);
  }
}

async function* filteredPages(
  changes: Iterable<JobChange>,
  filter: JobFilter,
): AsyncGenerator<readonly StoredChange[]> {
  let page: StoredChange[] = [];
  for (const change of changes) {
    const stored = encodeChange(change);
    if (!matchesFilter(filter, stored)) continue;
    page.push(stored);
    if (page.length < jobsLimits.listStatesMax.value) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

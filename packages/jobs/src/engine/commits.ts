// How changes reach the store and memory. Everything that follows a commit happens here, in one order: memory, leases,
// answers, events. So does what other processes have committed.
//
// J3  What was acknowledged as synced was synced before.
// J4  Nobody sees a revision before it is as durable as its write asked.
import {
  AssertionError,
  abortedError,
  assert,
  type Clock,
  type Logger,
  SynclineError,
} from '@syncline/kernel';
import type { JobsMetrics } from '../metrics-list.js';
import { CommitBatch, JobNotLoaded } from './commit-batch.js';
import {
  CommitLane,
  type LaneRequest,
  PendingCall,
  type PendingCallOptions,
  WriteQuota,
} from './commit-lane.js';
import type { JobCache } from './job-cache.js';
import { JobMirror, StagedJob } from './job-mirror.js';
import type { RetentionOptions } from './retention-marks.js';
import type { CommitRequest, CommitRows, StoreAdapter, StoreStart } from './store-adapter.js';

export interface CommitsDeps {
  readonly adapter: StoreAdapter;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: JobsMetrics;
  readonly jobs: JobCache;
  /** Memory holds what was stored; nobody was answered yet. */
  onApplied(staged: StagedJob): void;
  /** Answers and events are out. */
  onPublished(staged: StagedJob): void;
}

export interface CommitOptions {
  /** What it takes in the queue, about. */
  readonly bytes?: number;
  readonly cell?: LaneRequest['cell'];
  readonly signal?: AbortSignal | undefined;
}

type Since = NonNullable<CommitRows['since']>;

const CALL_BYTES = 512;

export class Commits {
  readonly #deps: CommitsDeps;
  readonly #retention: RetentionOptions;
  readonly #quota: WriteQuota;
  /** One for an exclusive store, under no name; one per job for a shared one. */
  readonly #lanes = new Map<string, CommitLane>();
  #jobsCount: number;
  #logRecords: number;
  #isClosed = false;

  constructor(deps: CommitsDeps, retention: RetentionOptions, start: StoreStart) {
    this.#deps = deps;
    this.#retention = retention;
    this.#quota = new WriteQuota(deps.metrics);
    this.#jobsCount = start.jobsCount;
    this.#logRecords = start.logRecords;
    this.#report();
  }

  get waitingCount(): number {
    return this.#quota.count;
  }

  get waitingBytes(): number {
    return this.#quota.bytes;
  }

  get jobsCount(): number {
    return this.#jobsCount;
  }

  get logRecords(): number {
    return this.#logRecords;
  }

  /** Decides when its commit is formed, answers when that is stored. Throws why it is refused. */
  async run<T>(
    jobId: string,
    decide: (batch: CommitBatch, staged: StagedJob | undefined) => T,
    options: CommitOptions = {},
  ): Promise<T> {
    const { jobs } = this.#deps;
    const { bytes = CALL_BYTES, cell, signal } = options;
    for (;;) {
      this.#quota.check(bytes);
      const pinned = jobs.pinNow(jobId) ?? (await this.#pinLoaded(jobId, bytes));
      try {
        this.#checkOpen(signal);
        return await new Promise<T>((resolve, reject) => {
          const call: PendingCallOptions<T> = {
            jobId,
            cell,
            bytes,
            signal,
            decide: (batch) => decide(batch, batch.stage(jobId, pinned.creations)),
            resolve,
            reject,
          };
          this.#laneOf(jobId).push(new PendingCall(call));
        });
      } catch (thrown) {
        if (!(thrown instanceof JobNotLoaded)) throw thrown;
      } finally {
        if (pinned.job) pinned.job.pins -= 1;
      }
    }
  }

  /** For the store's own work, of which there is little: it is never refused. */
  push(request: LaneRequest): void {
    this.#laneOf(request.jobId).push(request);
  }

  /**
   * Reads at a moment at which memory and an exclusive store hold the same. A caller that has waited may find the job
   * deleted, and its rows on their way out.
   */
  atLevel<T>(read: () => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const readNow = () => {
        try {
          resolve(read());
        } catch (thrown) {
          reject(thrown);
        }
      };
      if (this.#deps.adapter.shared) readNow();
      else this.#laneOf('').whenLevel(readNow);
    });
  }

  /** What other processes have committed to a job since it was last looked at. */
  follow(job: JobMirror, since: Since): void {
    const { jobs } = this.#deps;
    if (since.kind === 'gone') {
      if (job.isDeleted) return;
      job.isDeleted = true;
      jobs.remove(job);
      job.feed?.endDeleted();
      if (since.rows) jobs.add(new JobMirror(since.rows, this.#retention));
      return;
    }
    const changes = since.changes.filter(({ revision }) => revision > job.head.revision);
    const [first] = changes;
    if (!first) return;
    if (first.revision !== job.head.revision + 1) {
      // Compacted meanwhile: it is loaded again, and its followers read what is there.
      jobs.remove(job);
      job.feed?.close();
      return;
    }
    const staged = new StagedJob(job);
    for (const change of changes) staged.follow(change);
    staged.compactedTo = Math.max(staged.compactedTo, since.compactedTo);
    staged.apply();
    jobs.changed(job);
    job.feed?.publish(changes);
  }

  /** A job that was not in memory was deleted. */
  noteDeleted(): void {
    this.#jobsCount -= 1;
    this.#report();
  }

  /** Resolves when nothing waits and nothing is in flight. */
  async idle(): Promise<void> {
    await Promise.all(Array.from(this.#lanes.values(), (lane) => lane.idle()));
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Calls that wait for a job to be loaded take room in the queue too. */
  async #pinLoaded(jobId: string, bytes: number) {
    this.#quota.add(1, bytes);
    try {
      return await this.#deps.jobs.pin(jobId);
    } finally {
      this.#quota.add(-1, bytes);
    }
  }

  /** Asked again after each wait. */
  #checkOpen(signal: AbortSignal | undefined): void {
    if (this.#isClosed) throw new SynclineError('closed', 'the job store is closed');
    if (signal?.aborted) throw abortedError('a call to the job store', signal);
  }

  #laneOf(jobId: string): CommitLane {
    const name = this.#deps.adapter.shared ? jobId : '';
    const known = this.#lanes.get(name);
    if (known) return known;
    const lane = new CommitLane({
      clock: this.#deps.clock,
      quota: this.#quota,
      commit: (take) => this.#commit(take),
      onIdle: () => void (name !== '' && this.#lanes.delete(name)),
    });
    this.#lanes.set(name, lane);
    return lane;
  }

  async #commit(take: () => readonly LaneRequest[]): Promise<void> {
    const { adapter, jobs, metrics } = this.#deps;
    let requests: readonly LaneRequest[] | undefined;
    let batch: CommitBatch | undefined;
    try {
      const readable = adapter.whenReadable?.();
      if (readable) await readable;
      requests = take();
      const taken = requests;
      await adapter.commit(adapter.shared ? this.#wanted(taken) : [], (rows) => {
        batch?.end();
        this.#followSince(taken, rows.since);
        batch = new CommitBatch(rows, jobs);
        for (const request of taken) request.prepare(batch);
        return batch.toCommit();
      });
    } catch (thrown) {
      batch?.end();
      if (thrown instanceof AssertionError) throw thrown;
      for (const request of requests ?? take()) request.failed(thrown);
      return;
    }
    assert(batch !== undefined, 'an adapter lets the engine decide');
    metrics.observe('syncline_jobs_commit_batch_writes', requests.length);
    for (const staged of batch.jobs) if (staged.hasChanged) this.#apply(staged);
    this.#report();
    for (const request of requests) request.done();
    for (const staged of batch.jobs) if (staged.hasChanged) this.#publish(staged);
    batch.end();
  }

  #wanted(requests: readonly LaneRequest[]): readonly CommitRequest[] {
    const jobId = requests[0]?.jobId ?? '';
    const job = this.#deps.jobs.peek(jobId);
    const known = job && { incarnation: job.row.incarnation, revision: job.head.revision };
    return [{ jobId, known, cells: requests.flatMap(({ cell }) => cell ?? []) }];
  }

  #followSince(requests: readonly LaneRequest[], since: Since | undefined): void {
    const jobId = requests[0]?.jobId ?? '';
    const job = this.#deps.jobs.peek(jobId);
    if (job && since) this.follow(job, since);
    else if (since?.kind === 'gone' && since.rows)
      this.#deps.jobs.add(new JobMirror(since.rows, this.#retention));
  }

  #apply(staged: StagedJob): void {
    const { jobs } = this.#deps;
    const { job } = staged;
    const before = staged.kind === 'create' ? 0 : job.head.logRecords;
    const isCurrent = staged.kind === 'create' || jobs.peek(staged.row.jobId) === job;
    assert(isCurrent, 'J1: a job stays in memory while a commit holds it');
    staged.apply();
    this.#logRecords += (staged.isDeleted ? 0 : job.head.logRecords) - before;
    if (staged.isDeleted) {
      this.#jobsCount -= 1;
      jobs.remove(job);
    } else if (staged.kind === 'create') {
      this.#jobsCount += 1;
      jobs.add(job);
    } else {
      jobs.changed(job);
    }
    this.#deps.onApplied(staged);
  }

  #publish(staged: StagedJob): void {
    const { job, changes, isDeleted } = staged;
    if (changes.length > 0) job.feed?.publish(changes);
    if (isDeleted) job.feed?.endDeleted();
    this.#deps.onPublished(staged);
  }

  #report(): void {
    const { metrics } = this.#deps;
    metrics.set('syncline_jobs_jobs', this.#jobsCount);
    metrics.set('syncline_jobs_log_records', this.#logRecords);
  }
}

// How changes reach the store and memory: while one commit is in flight, calls gather for the next.
//
//    run ─▶ waiting ─ taken, checked ─▶ in flight ─ stored ─▶ memory updated ─▶ replied ─▶ published
//                                           └─ failed ─▶ replied with the error; nothing was changed
//
// Checks run when a commit is formed, against what is committed or already staged in it, so they need no locks. Refusals
// are sent after the commit too, since they may depend on staged changes. A bug in a check fails the whole commit. Calls
// that would make the checks take too long for one turn of the event loop wait for the next commit.
//
// J3, J4  A write is as durable as requested before it is acknowledged, and before anyone sees its revision.
import { AssertionError, abortedError, assert, type Clock, SynclineError } from '@syncline/kernel';
import { limitValues } from '../limits.js';
import type { JobCache } from './job-cache.js';
import type { JobMirror } from './job-mirror.js';
import { CommitBatch, type StagedJob } from './staged-job.js';
import type { CommitRequest, EngineDeps, StoreAdapter, WantedCell } from './store-adapter.js';
import { WriteQuota } from './write-quota.js';

export interface EngineParts extends EngineDeps {
  readonly adapter: StoreAdapter;
  readonly jobs: JobCache;
  readonly commits: Commits;
}

export interface CommitsDeps extends Omit<EngineParts, 'commits'> {
  /** Called after memory is updated, before replies are sent. */
  onApplied(staged: StagedJob): void;
  /** Called after replies and events are sent. */
  onPublished(job: JobMirror): void;
}

export interface CommitOptions {
  /** Approximate size in the queue and in a commit. */
  readonly bytes?: number;
  readonly cell?: WantedCell;
  /** The task whose lease may be declared lost. */
  readonly overdue?: number;
  readonly signal?: AbortSignal | undefined;
  /** The store's own work. There is little of it, so it is not subject to the queue limits. */
  readonly isOwn?: boolean;
}

/** Stages the changes of a call, or throws a SynclineError and stages none. Called again if the commit is repeated. */
export type DecideCall<T> = (staged: StagedJob | undefined, batch: CommitBatch) => T;

const CALL_BYTES = 512;

export class Commits {
  readonly #deps: CommitsDeps;
  readonly quota: WriteQuota;
  /** A single lane with an empty name for an exclusive store; one lane per job for a shared store. */
  readonly #lanes = new Map<string, CommitLane>();
  jobsCount = 0;
  logRecords = 0;
  #isClosed = false;

  constructor(deps: CommitsDeps) {
    this.#deps = deps;
    this.quota = new WriteQuota(deps.metrics);
  }

  start(jobsCount: number, logRecords: number): void {
    this.jobsCount = jobsCount;
    this.logRecords = logRecords;
    this.#report();
  }

  /** Calls `decide` when its commit is formed, and resolves when that is stored. Throws if the call is refused. */
  async run<T>(jobId: string, decide: DecideCall<T>, options: CommitOptions = {}): Promise<T> {
    const { jobs } = this.#deps;
    const { bytes = CALL_BYTES, signal, isOwn } = options;
    if (!isOwn) this.quota.check(bytes);
    this.quota.add(1, bytes);
    jobs.hold(jobId);
    try {
      if (!jobs.touch(jobId)) await jobs.load(jobId);
      if (this.#isClosed) throw new SynclineError('closed', 'the job store is closed');
      if (signal?.aborted) throw abortedError('a call to the job store', signal);
    } catch (thrown) {
      this.quota.add(-1, bytes);
      jobs.release(jobId);
      throw thrown;
    }
    return new Promise<T>((resolve, reject) => {
      const decideNow = (batch: CommitBatch) => {
        const answer = decide(batch.stage(jobId), batch);
        return () => resolve(answer);
      };
      this.#laneOf(jobId).add(pendingCall({ jobId, bytes, options }, decideNow, reject));
    });
  }

  /** Reads while memory and an exclusive store are in sync. By then, the job may have been deleted. */
  async whenInSync<T>(read: () => T | Promise<T>): Promise<T> {
    return this.#deps.adapter.shared ? read() : this.#laneOf('').betweenCommits(read);
  }

  /** Catches up with what other processes have committed, unless `revision` is reached. Waiting calls share a read. */
  async catchUp(job: JobMirror, revision = Number.POSITIVE_INFINITY): Promise<void> {
    const { adapter, jobs } = this.#deps;
    const { shared } = adapter;
    const isReached = (wanted: number) => job.isDeleted || job.head.revision >= wanted;
    if (!shared || isReached(revision)) return;
    const planned = job.catchingUp ?? { revision, done: Promise.resolve() };
    planned.revision = Math.max(planned.revision, revision);
    if (!job.catchingUp) {
      job.catchingUp = planned;
      const { jobId } = job.row;
      planned.done = this.#laneOf(jobId).betweenCommits(async () => {
        job.catchingUp = undefined;
        if (!isReached(planned.revision)) jobs.follow(jobId, await shared.changesAfter(job));
      });
    }
    await planned.done;
  }

  /** Call it after a job that is not in memory was deleted. */
  noteDeleted(jobId: string): void {
    this.jobsCount -= 1;
    this.#deps.jobs.endFeed(jobId, 'deleted');
    this.#report();
  }

  /** Accepts no more calls, and resolves when nothing is waiting or in flight. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#deps.jobs.loading.values());
    await Promise.all(Array.from(this.#lanes.values(), (lane) => lane.idle()));
  }

  #laneOf(jobId: string): CommitLane {
    const { adapter, clock } = this.#deps;
    const name = adapter.shared ? jobId : '';
    const known = this.#lanes.get(name);
    if (known) return known;
    const onIdle = () => void (adapter.shared && this.#lanes.delete(name));
    const lane = createLane(clock, (calls) => this.#commit(calls), onIdle);
    this.#lanes.set(name, lane);
    return lane;
  }

  /**
   * Stores one commit, updates memory, replies and publishes. Returns the calls that were left for the next one. Throws
   * only on bugs. Its calls hold their jobs until it has ended, even if their callers have given up: a job evicted
   * meanwhile would be reloaded in its state before the commit.
   */
  async #commit(waiting: readonly PendingCall[]): Promise<readonly PendingCall[]> {
    const { adapter, clock, jobs, metrics, onPublished } = this.#deps;
    let changed: readonly StagedJob[] | undefined;
    let calls = waiting;
    for (const { bytes } of waiting) this.quota.add(-1, bytes);
    try {
      await adapter.commit(adapter.shared ? this.#wanted(waiting) : [], (rows) => {
        if (rows.since) jobs.follow(waiting[0]?.jobId ?? '', rows.since);
        const batch = new CommitBatch(rows, jobs, this.jobsCount);
        const endMs = clock.monotonicMs() + limitValues.commitTurnMs;
        const prepared: PendingCall[] = [];
        for (const call of waiting) {
          call.prepare(batch);
          prepared.push(call);
          if (clock.monotonicMs() >= endMs) break;
        }
        calls = prepared;
        changed = batch.jobs.filter(({ hasChanged }) => hasChanged);
        const { securesEarlier } = batch;
        const isSynced = securesEarlier || changed.some((staged) => staged.isSynced);
        const durability = isSynced ? 'synced' : 'buffered';
        const isEmpty = changed.length === 0 && !securesEarlier;
        return isEmpty ? undefined : { jobs: changed, durability, securesEarlier };
      });
    } catch (thrown) {
      if (thrown instanceof AssertionError) throw thrown;
      for (const call of calls) call.failed(thrown);
      return this.#taken(waiting, calls.length);
    }
    assert(changed !== undefined, 'an adapter calls `decide` in `commit`');
    metrics.observe('syncline_jobs_commit_batch_writes', calls.length);
    for (const staged of changed) this.#apply(staged);
    this.#report();
    for (const call of calls) call.done();
    for (const { job, changes } of changed) {
      jobs.publish(job, changes);
      onPublished(job);
    }
    return this.#taken(waiting, calls.length);
  }

  /** The first ones have their replies, and release their jobs. Returns the others, which wait again. */
  #taken(waiting: readonly PendingCall[], count: number): readonly PendingCall[] {
    for (const { jobId } of waiting.slice(0, count)) this.#deps.jobs.release(jobId);
    const left = waiting.slice(count);
    for (const { bytes } of left) this.quota.add(1, bytes);
    return left;
  }

  #wanted(calls: readonly PendingCall[]): readonly CommitRequest[] {
    const jobId = calls[0]?.jobId ?? '';
    const known = this.#deps.jobs.loaded.get(jobId);
    const cells = calls.flatMap(({ options }) => options.cell ?? []);
    const overdue = calls.flatMap(({ options }) => options.overdue ?? []);
    return [{ jobId, known, cells, overdue }];
  }

  #apply(staged: StagedJob): void {
    const { jobs } = this.#deps;
    const { job, isNew, isDeleted } = staged;
    const current = jobs.loaded.get(staged.row.jobId);
    assert(isNew || current === job, 'J1: a job stays in memory while a commit holds it');
    const before = isNew ? 0 : job.head.logRecords;
    staged.apply();
    this.logRecords += (isDeleted ? 0 : job.head.logRecords) - before;
    this.jobsCount += Number(isNew) - Number(isDeleted);
    if (isDeleted) jobs.remove(job);
    else if (!isNew) jobs.changed(job);
    else if (!current) jobs.add(job); // a read may have loaded it from a shared store in the meantime
    this.#deps.onApplied(staged);
  }

  #report(): void {
    const { metrics } = this.#deps;
    metrics.set('syncline_jobs_jobs', this.jobsCount);
    metrics.set('syncline_jobs_log_records', this.logRecords);
  }
}

type PendingCall = ReturnType<typeof pendingCall>;

/** A call that waits for its commit: decided when the commit is formed, settled when it is stored. */
function pendingCall(
  { jobId, bytes, options }: Readonly<{ jobId: string; bytes: number; options: CommitOptions }>,
  decide: (batch: CommitBatch) => () => void,
  reject: (error: unknown) => void,
) {
  const { signal } = options;
  let answer: (() => void) | undefined;
  const onAbort = (): void => {
    if (!signal) return;
    const error = abortedError('a write to the job store', signal);
    const outcome = answer === undefined ? 'not-applied' : 'unknown';
    reject(error.withOutcome(outcome));
  };
  signal?.addEventListener('abort', onAbort);
  return {
    jobId,
    bytes,
    options,
    /** Throws only on bugs. Called again if the commit is repeated. */
    prepare(batch: CommitBatch): void {
      if (signal?.aborted) return;
      try {
        answer = decide(batch);
      } catch (thrown) {
        if (!(thrown instanceof SynclineError)) throw thrown;
        answer = () => reject(thrown);
      }
    },
    done(): void {
      signal?.removeEventListener('abort', onAbort);
      answer?.();
    },
    /** Replaces refusals too: they may depend on changes in the commit, which were not applied. */
    failed(thrown: unknown): void {
      signal?.removeEventListener('abort', onAbort);
      reject(thrown);
    },
  };
}

type CommitLane = ReturnType<typeof createLane>;

function createLane(
  clock: Pick<Clock, 'defer'>,
  commit: (calls: readonly PendingCall[]) => Promise<readonly PendingCall[]>,
  onIdle: () => void,
) {
  let waiting: PendingCall[] = [];
  let readersCount = 0;
  /** A commit, or a read that the next commit waits for. */
  let inFlight: Promise<void> | undefined;
  let isReading = false;
  let planned: Promise<void> | undefined;

  /** Calls come before the next reader: reads that fail and are repeated must not hold them up for ever. */
  async function reading(read: Promise<unknown>): Promise<void> {
    isReading = true;
    await Promise.allSettled([read]);
    isReading = false;
    if (waiting.length > 0) await commitNext();
  }

  async function commitNext(): Promise<void> {
    const left = await commit(take());
    if (left.length > 0) waiting = [...left, ...waiting];
  }

  function take(): readonly PendingCall[] {
    const { commitWritesMax, commitBytesMax } = limitValues;
    let bytes = 0;
    const isBeyond = (call: PendingCall, at: number) => {
      bytes += call.bytes;
      return at > 0 && (at >= commitWritesMax || bytes > commitBytesMax);
    };
    const end = waiting.findIndex(isBeyond);
    const taken = end === -1 ? waiting : waiting.slice(0, end);
    waiting = waiting.slice(taken.length);
    return taken;
  }

  /** Commits at the end of this turn of the event loop, with all calls that have arrived by then. */
  function plan(): void {
    if (planned || inFlight) return;
    planned = new Promise((resolve) => {
      clock.defer(() => {
        planned = undefined;
        if (!inFlight && waiting.length > 0) occupy(commitNext());
        resolve();
      });
    });
  }

  /** Store failures go to the callers; if `work` throws, it is a bug, and ends the process. */
  function occupy(work: Promise<void>): void {
    inFlight = work.then(() => {
      inFlight = undefined;
      if (waiting.length > 0) plan();
      else if (readersCount === 0) onIdle();
    });
  }

  return {
    add(call: PendingCall): void {
      waiting.push(call);
      plan();
    },

    /** Reads as soon as no commit is in flight. If `read` returns a promise, the next commit waits for it. */
    async betweenCommits<T>(read: () => T | Promise<T>): Promise<T> {
      readersCount += 1;
      while (inFlight) await inFlight;
      readersCount -= 1;
      const result = read();
      if (result instanceof Promise) occupy(reading(result));
      return result;
    },

    /** Resolves when all calls were committed. Reads may continue. */
    async idle(): Promise<void> {
      const isBusy = () => waiting.length > 0 || (inFlight && !isReading);
      while (planned || isBusy()) await (inFlight ?? planned);
    },
  };
}

// Listens to the states of one job, notices when the connection is dead, and listens again.
//
//   starting ──▶ live ──▶ stale ──▶ live        a failed check, or an error of the stream, is a lost connection
//       │                 │   ▲
//       └────────▶ stale ─┘   └─ each attempt waits longer; after the last one it fails
//
// The client library hides a dead connection for minutes. So while listening we read the job document now and
// then: if that fails, or if the listener does not get as far as the document within a time, it is dead.
import { type Clock, type Logger, type Random, SynclineError } from '@syncline/kernel';
import type { JobsMetrics } from '../metrics-list.js';
import { reconnectDelayMs } from '../reconnect.js';
import type { JobDocuments } from './document-refs.js';
import type { FirestoreCalls } from './firestore-calls.js';
import { firestoreError } from './firestore-errors.js';
import type { CheckedFirestoreOptions } from './firestore-options.js';
import { type JobRecord, readJobDocument } from './job-document.js';
import { type ListenedBatch, listenedBatch } from './listened-batch.js';

export interface JobListenerDeps {
  readonly calls: FirestoreCalls;
  readonly documents: JobDocuments;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: JobsMetrics;
}

/** Who holds what the listener brings. */
export interface ListenerTarget {
  onBatch(batch: ListenedBatch): void;
  /** What the job document says; undefined: there is no such job. Returns whether to go on. */
  onJob(record: JobRecord | undefined): boolean;
  /** Resolves once it holds everything up to this revision. */
  whenReached(revision: number, signal: AbortSignal): Promise<void>;
  /** It holds what the job document said. */
  onLive(): void;
  onStale(stale: { readonly sinceMs: number; readonly attempt: number }): void;
  onFailed(error: SynclineError): void;
  /** Asked now and then. False: listening ends. */
  isNeeded(): boolean;
}

export class JobListener {
  readonly #deps: JobListenerDeps;
  readonly #options: CheckedFirestoreOptions;
  readonly #target: ListenerTarget;
  readonly #stop = new AbortController();
  #running = Promise.resolve();
  #attempt = 0;
  #staleSinceMs = 0;

  constructor(deps: JobListenerDeps, options: CheckedFirestoreOptions, target: ListenerTarget) {
    this.#deps = deps;
    this.#options = options;
    this.#target = target;
  }

  start(): void {
    this.#running = this.#run(this.#stop.signal);
  }

  /** Resolves once nothing of it is left. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#deps;
    const { reconnect } = this.#options;
    while (!signal.aborted) {
      try {
        await this.#listen(signal);
        return;
      } catch (thrown) {
        if (signal.aborted) return;
        const error = firestoreError('listening to the job', thrown, 'not-applied');
        // What cannot succeed fails at once: a refusal of the credentials, a document that nobody can read.
        if (!error.retryable || this.#attempt >= reconnect.attempts) return this.#fail(error);
        this.#noteLost(error);
      }
      await clock
        .sleep(reconnectDelayMs(this.#attempt - 1, reconnect, random), signal)
        .catch(() => {});
    }
  }

  /** Ends when it is no longer needed, and throws when the connection is lost. */
  async #listen(signal: AbortSignal): Promise<void> {
    const { documents } = this.#deps;
    const stop = new AbortController();
    const stopNow = () => stop.abort();
    signal.addEventListener('abort', stopNow);
    let unsubscribe = () => {};
    const stream = new Promise<never>((_, reject) => {
      unsubscribe = documents.states.onSnapshot((snapshot) => {
        try {
          this.#target.onBatch(listenedBatch(documents.jobId, snapshot));
        } catch (thrown) {
          reject(thrown);
        }
      }, reject);
    });
    try {
      await Promise.race([stream, this.#checkOften(stop.signal)]);
    } finally {
      unsubscribe();
      signal.removeEventListener('abort', stopNow);
      stop.abort();
    }
  }

  async #checkOften(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const { pollMs } = this.#options;
    // The first snapshot comes in one piece, however large the job is.
    let timeoutMs = this.#options.startTimeoutMs;
    do {
      const record = await this.#readJob(signal);
      if (signal.aborted || !this.#target.onJob(record) || !record) return;
      await this.#reach(record.head.revision, signal, timeoutMs);
      timeoutMs = this.#options.reachTimeoutMs;
      this.#noteLive();
      await clock.sleep(pollMs, signal);
    } while (this.#target.isNeeded());
  }

  async #readJob(signal: AbortSignal): Promise<JobRecord | undefined> {
    const { calls, documents } = this.#deps;
    const what = `looking after job "${documents.jobId}"`;
    const snapshot = await calls.read(what, () => documents.job.get(), {
      timeoutMs: this.#options.reachTimeoutMs,
      signal,
    });
    const record = readJobDocument(snapshot);
    return record?.isDeleting ? undefined : record;
  }

  async #reach(revision: number, signal: AbortSignal, timeoutMs: number): Promise<void> {
    const { clock, documents } = this.#deps;
    const late = new AbortController();
    const giveUp = () => late.abort();
    const timer = clock.setTimer(timeoutMs, giveUp);
    signal.addEventListener('abort', giveUp);
    try {
      await this.#target.whenReached(revision, late.signal);
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      const story = `the listener of job "${documents.jobId}" has not reached revision ${revision} within ${timeoutMs} ms`;
      throw new SynclineError('unavailable', story, { cause: thrown });
    } finally {
      timer.cancel();
      signal.removeEventListener('abort', giveUp);
    }
  }

  #noteLive(): void {
    if (this.#attempt > 0) {
      const { logger, documents } = this.#deps;
      logger.info('listening to a job again', { jobId: documents.jobId });
    }
    this.#attempt = 0;
    this.#target.onLive();
  }

  #noteLost(error: SynclineError): void {
    const { calls, clock, logger, metrics, documents } = this.#deps;
    calls.noteTrouble();
    if (this.#attempt === 0) {
      this.#staleSinceMs = clock.nowMs();
      logger.warn('🟡 lost the connection that listens to a job', {
        jobId: documents.jobId,
        error: error.message,
      });
    }
    this.#attempt += 1;
    metrics.add('syncline_jobs_listener_reconnects_total');
    this.#target.onStale({ sinceMs: this.#staleSinceMs, attempt: this.#attempt });
  }

  #fail(error: SynclineError): void {
    const { calls, logger, documents } = this.#deps;
    calls.noteTrouble();
    logger.error('🔴 gave up listening to a job', {
      jobId: documents.jobId,
      error: error.message,
    });
    this.#target.onFailed(error);
  }
}

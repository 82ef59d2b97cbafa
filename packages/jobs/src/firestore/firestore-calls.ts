// All calls to Firestore: limited in number and duration, and retried after conflicts, sooner than by the library.
//
// The client library opens each connection in a promise that is not awaited. Without credentials that promise is
// rejected, which ends the process. So the first call checks the credentials, and the client is not used before that.
import { setMaxListeners } from 'node:events';
import type { CollectionReference, Firestore, Transaction } from '@google-cloud/firestore';
import { abortedError, backoffMs, type Outcome, SynclineError } from '@syncline/kernel';
import { type Checked, integer, optional, orDefault } from '@syncline/kernel/checks';
import { overloaded } from '../checks/values.js';
import { isContention } from '../core/refusals.js';
import { Slots } from '../engine/slots.js';
import type { EngineDeps } from '../engine/store-adapter.js';
import { limitValues } from '../limits.js';
import { checkReconnect, type ReconnectOptions } from '../reconnect.js';
import { jobDocuments, latestCommit } from './job-documents.js';

/** A transaction takes tens of milliseconds, so after a conflict a retry soon succeeds. */
const CONTENTION = { attempts: 20, initialMs: 20, maxMs: 1_000 };
/** The client library tries a read or a stream five times, and waits up to 5 s in between. */
const CLIENT_RETRIES_MS = 20_000;
/** How long `close` waits for calls in flight. Healthy calls take a fraction of this. */
const CLOSE_WAIT_MS = 1_000;

export interface FirestoreDeps extends EngineDeps {
  /** The store closes it. */
  readonly firestore: Firestore;
  /** Throws if there are no usable credentials. */
  readonly authenticate: () => Promise<void>;
}

const checkConcurrency = optional(integer('concurrencyMax', 1, 1_000_000));
const time = (usualMs: number) => orDefault(integer('time', 1, 86_400_000), usualMs);

/** The options that a user may set, apart from those of the client. */
export const OPTIONS = {
  concurrencyMax: (value: unknown) => checkConcurrency(value) ?? Number.POSITIVE_INFINITY,
  reconnect: (value: unknown) => checkReconnect(value as ReconnectOptions),
  pollMs: time(15_000),
  reachTimeoutMs: time(5_000),
  startTimeoutMs: time(60_000),
  callTimeoutMs: time(10_000),
  listenIdleMs: time(30_000),
};

export type FirestoreOptions = Checked<typeof OPTIONS>;

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
  /** The outcome to report on failure. Default: `unknown` once a commit may have been sent. */
  readonly outcome?: Outcome;
}

export class FirestoreCalls {
  readonly #deps: FirestoreDeps;
  readonly #options: FirestoreOptions;
  readonly #slots: Slots;
  /** Of the calls that wait for a reply. A set, because a signal takes longer the more listeners it has. */
  readonly #onClosing = new Set<() => void>();
  readonly #closing = new AbortController();
  #authenticated: Promise<void> | undefined;
  #lastFailureMs = Number.NEGATIVE_INFINITY;

  constructor(deps: FirestoreDeps, options: FirestoreOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#slots = new Slots(deps, options.concurrencyMax);
    setMaxListeners(0, this.#closing.signal); // one for each transaction waiting to be retried
  }

  /** Resolves once the client may be used. After a failure, the next call checks the credentials again. */
  ready(): Promise<void> {
    this.#authenticated ??= this.#deps.authenticate().catch((thrown: unknown) => {
      this.#authenticated = undefined;
      throw credentialsRefused(`no usable credentials for Firestore: ${detailOf(thrown)}`, thrown);
    });
    return this.#authenticated;
  }

  get jobs(): CollectionReference {
    return this.#deps.firestore.collection('jobs');
  }

  documents(jobId: string) {
    return jobDocuments(this.jobs, jobId);
  }

  /** The time of the latest commit to a job, in microseconds; 0 if there is none. */
  async newestCommit(jobId: string, options: CallOptions): Promise<number> {
    const { newest } = this.documents(jobId);
    const what = `reading the newest changes of job "${jobId}"`;
    return latestCommit(await this.read(what, () => newest.get(), options));
  }

  /** Call it when the connection fails: the client library keeps retrying by itself for a while. */
  recordConnectionFailure(): void {
    this.#lastFailureMs = this.#deps.clock.monotonicMs();
  }

  read<T>(what: string, call: () => Promise<T>, options: CallOptions = {}): Promise<T> {
    return this.#run(what, call, () => options.outcome ?? 'not-applied', options);
  }

  /** `body` reads, then writes. It may be called again. */
  async transact<T>(
    what: string,
    body: (transaction: Transaction) => Promise<T>,
    options: CallOptions = {},
  ): Promise<T> {
    const { clock, random, firestore } = this.#deps;
    let outcome = options.outcome ?? 'not-applied';
    for (let attempt = 0; ; attempt += 1) {
      const call = (gaveUp: AbortSignal) => {
        const update = async (transaction: Transaction) => {
          const result = await body(transaction);
          // `not-applied` has already been reported to the caller, which may have written something newer since.
          gaveUp.throwIfAborted();
          outcome = 'unknown'; // from here on, the commit may be applied
          return result;
        };
        return firestore.runTransaction(update, { maxAttempts: 1 });
      };
      try {
        return await this.#run(what, call, () => outcome, options);
      } catch (thrown) {
        if (!isContention(thrown) || attempt + 1 >= CONTENTION.attempts) throw thrown;
        const waitMs = backoffMs(attempt, CONTENTION, random);
        await clock.sleep(waitMs, this.#closing.signal).catch(() => {});
        if (this.#closing.signal.aborted || options.signal?.aborted) throw thrown;
      }
    }
  }

  /**
   * Terminating the client while it is still retrying would cause an uncatchable error. So this waits briefly for calls
   * in flight; if they take longer, or after a connection failure, the client is terminated later.
   */
  async close(): Promise<void> {
    const { clock } = this.#deps;
    const quiet = new AbortController();
    void this.#slots.free().then(() => quiet.abort());
    await clock.sleep(CLOSE_WAIT_MS, quiet.signal).catch(() => {});
    this.#closing.abort();
    for (const onStopped of this.#onClosing) onStopped();
    const troubleMs = this.#lastFailureMs + CLIENT_RETRIES_MS - clock.monotonicMs();
    if (troubleMs > 0) clock.setTimer(troubleMs, () => void this.#end(), { unref: true });
    else if (quiet.signal.aborted) await this.#end();
    else void this.#end();
  }

  /** The signal passed to `call` fires when the caller has stopped waiting for the result. */
  async #run<T>(
    what: string,
    call: (gaveUp: AbortSignal) => Promise<T>,
    outcome: () => Outcome,
    { signal, timeoutMs = this.#options.callTimeoutMs }: CallOptions,
  ): Promise<T> {
    const gaveUp = new AbortController();
    const giveUp = (code: 'closed' | 'timeout', story: string) =>
      gaveUp.abort(new SynclineError(code, `${what}: ${story}`));
    const onStopped = () => {
      if (this.#closing.signal.aborted) giveUp('closed', 'the job store is closed');
      else if (signal?.aborted) gaveUp.abort(abortedError(what, signal));
    };
    const timer = this.#deps.clock.setTimer(timeoutMs, () => {
      this.recordConnectionFailure();
      giveUp('timeout', `no reply from Firestore within ${timeoutMs} ms`);
    });
    const abandoned = new Promise<never>((_, reject) => {
      const { signal: over } = gaveUp;
      over.addEventListener('abort', () => reject(SynclineError.from(over.reason)));
    });
    this.#onClosing.add(onStopped);
    signal?.addEventListener('abort', onStopped);
    onStopped();
    try {
      return await Promise.race([abandoned, this.#inTurn(call, gaveUp.signal)]);
    } catch (thrown) {
      const error = firestoreError(what, thrown, outcome());
      throw gaveUp.signal.aborted ? error.withOutcome(outcome()) : error;
    } finally {
      timer.cancel();
      this.#onClosing.delete(onStopped);
      signal?.removeEventListener('abort', onStopped);
    }
  }

  /** A call that was given up leaves the queue and never runs. */
  async #inTurn<T>(call: (gaveUp: AbortSignal) => Promise<T>, gaveUp: AbortSignal): Promise<T> {
    gaveUp.throwIfAborted();
    await this.ready();
    const waiting = 'calls are waiting for Firestore. Try again later, or raise concurrencyMax.';
    if (this.#slots.waiting.size >= limitValues.firestoreCallsWaitingMax)
      throw overloaded('firestoreCallsWaitingMax', waiting);
    using _slot = await this.#slots.take(gaveUp);
    gaveUp.throwIfAborted();
    return await call(gaveUp);
  }

  async #end(): Promise<void> {
    const { firestore, logger } = this.#deps;
    await this.#slots.free();
    await firestore.terminate().catch((thrown: unknown) => {
      logger.warn('🟡 could not end the Firestore client', { error: detailOf(thrown) });
    });
  }
}

/** gRPC status codes. */
const OVERTAKEN = 10;
const QUOTA_EXHAUSTED = 8;
const REFUSED = [3, 5, 9]; // invalid argument, not found, failed precondition
const CREDENTIALS_REFUSED = [7, 16]; // permission denied, unauthenticated

const WHAT_TO_SET =
  'Set GOOGLE_APPLICATION_CREDENTIALS to the key file of a service account with the role Cloud Datastore User, attach ' +
  'such an account to the machine, or pass `credentials`.';

export function firestoreError(what: string, thrown: unknown, outcome: Outcome): SynclineError {
  if (thrown instanceof SynclineError) return thrown;
  const code = thrown instanceof Error && 'code' in thrown ? Number(thrown.code) : 0;
  const detail = detailOf(thrown);
  const unavailable = (reason: string, story: string, retryable = true) => {
    const options = { retryable, outcome, cause: thrown, details: { reason } };
    return new SynclineError('unavailable', `${what}${story}`, options);
  };
  // If the reply to a commit was lost and it is sent again, its transaction has expired.
  if (code === OVERTAKEN || (REFUSED.includes(code) && /transaction has expired/.test(detail))) {
    const advice = 'Try again, or let fewer processes write the same key.';
    return unavailable('contention', ` kept conflicting with other writers. ${advice}`);
  }
  if (CREDENTIALS_REFUSED.includes(code))
    return credentialsRefused(`${what}: Firestore refused the credentials: ${detail}`, thrown);
  if (REFUSED.includes(code))
    return unavailable('refused', `: Firestore refused the call: ${detail}`, false);
  if (code !== QUOTA_EXHAUSTED)
    return unavailable('firestore', `: Firestore is unreachable: ${detail}`);
  const message = `${what}: a Firestore quota is exhausted: ${detail}`;
  return new SynclineError('overloaded', message, { outcome, cause: thrown });
}

function credentialsRefused(message: string, cause: unknown): SynclineError {
  const options = { retryable: false, cause, details: { reason: 'credentials' } };
  const advised = `${message.replace(/\.$/, '')}. ${WHAT_TO_SET}`;
  return new SynclineError('unavailable', advised, options);
}

function detailOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message.slice(0, 256) : String(thrown);
}

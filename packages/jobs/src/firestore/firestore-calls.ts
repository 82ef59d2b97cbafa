// Every call to Firestore goes through here: bounded in number and time, its errors named, and a transaction
// that was overtaken by another writer tried again.
//
// We try again ourselves and not the client, which waits for seconds of real time where tens of milliseconds do.

import type { Firestore, Transaction } from '@google-cloud/firestore';
import {
  abortedError,
  backoffMs,
  type Clock,
  type Logger,
  type Outcome,
  type Random,
  SynclineError,
} from '@syncline/kernel';
import { CallSlots } from './call-slots.js';
import { firestoreError, isContention } from './firestore-errors.js';
import type { CheckedFirestoreOptions } from './firestore-options.js';

/** The client tries a read or a stream five times, with waits of up to 5 s in between. */
const CLIENT_RETRIES_MS = 20_000;
/** How long a close waits for what is still under way: healthy calls take a fraction of it. */
const CLOSE_WAIT_MS = 1_000;

export interface FirestoreCallsDeps {
  readonly firestore: Firestore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

interface Call {
  readonly what: string;
  readonly timeoutMs: number;
  /** What is known of it when nobody waits any longer. */
  readonly outcome: () => Outcome;
  readonly signal?: AbortSignal | undefined;
}

export class FirestoreCalls {
  readonly #deps: FirestoreCallsDeps;
  readonly #options: CheckedFirestoreOptions;
  readonly #slots: CallSlots;
  readonly #underWay = new Set<Promise<unknown>>();
  /** Ends each wait for an answer. */
  readonly #waiting = new Set<() => void>();
  /** Each waits before it tries again. */
  readonly #retrying = new Set<AbortController>();
  #isStopping = false;
  #isClosed = false;
  #troubledAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: FirestoreCallsDeps, options: CheckedFirestoreOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#slots = new CallSlots(options.concurrencyMax);
  }

  /** The connection is in trouble: the client goes on trying by itself for a while, whatever we do. */
  noteTrouble(): void {
    this.#troubledAtMs = this.#deps.clock.monotonicMs();
  }

  /** Nothing that was overtaken is tried again, and who waits to do so fails now: the store closes. */
  stopRetrying(): void {
    this.#isStopping = true;
    for (const wait of this.#retrying) wait.abort();
  }

  /**
   * Ends the client, and refuses what comes after. If it were ended while it still tries something, it would
   * throw where nobody can catch. So what is under way is waited for, but not for long; after that, and after
   * trouble, the client is ended later, and this does not wait for it.
   */
  async close(): Promise<void> {
    this.stopRetrying();
    this.#isClosed = true;
    const { clock } = this.#deps;
    const isQuiet = await this.#becomesQuiet();
    for (const endWait of this.#waiting) endWait();
    const quietMs = clock.monotonicMs() - this.#troubledAtMs;
    const endLater = () => void this.#end();
    if (quietMs < CLIENT_RETRIES_MS)
      clock.setTimer(CLIENT_RETRIES_MS - quietMs, endLater, { unref: true });
    else if (isQuiet) await this.#end();
    else endLater();
  }

  /** A read. */
  read<T>(
    what: string,
    call: () => Promise<T>,
    options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
  ): Promise<T> {
    const { timeoutMs = this.#options.callTimeoutMs, signal } = options;
    return this.#run({ what, timeoutMs, signal, outcome: () => 'not-applied' }, call);
  }

  /** `body` reads, then writes; it may be called again. It must not have effects of its own. */
  async transact<T>(what: string, body: (transaction: Transaction) => Promise<T>): Promise<T> {
    const { attempts } = this.#options.contention;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#transactOnce(what, body);
      } catch (thrown) {
        const isAgain = thrown instanceof SynclineError && isContention(thrown);
        if (!isAgain || attempt + 1 >= attempts || !(await this.#mayRetry(attempt))) throw thrown;
      }
    }
  }

  /** Waits. False: the store closes. */
  async #mayRetry(attempt: number): Promise<boolean> {
    if (this.#isStopping) return false;
    const { clock, random } = this.#deps;
    const wait = new AbortController();
    this.#retrying.add(wait);
    await clock
      .sleep(backoffMs(attempt, this.#options.contention, random), wait.signal)
      .catch(() => {});
    this.#retrying.delete(wait);
    return !this.#isStopping;
  }

  #transactOnce<T>(what: string, body: (transaction: Transaction) => Promise<T>): Promise<T> {
    let outcome: Outcome = 'not-applied';
    const timeoutMs = this.#options.callTimeoutMs;
    return this.#run({ what, timeoutMs, outcome: () => outcome }, (gaveUp) => {
      const noted = async (transaction: Transaction) => {
        const result = await body(transaction);
        // Its caller was told that nothing was applied, and may have written something newer since.
        if (gaveUp.aborted) throw abortedError(what, gaveUp);
        outcome = 'unknown'; // from here on the commit may arrive
        return result;
      };
      return this.#deps.firestore.runTransaction(noted, { maxAttempts: 1 });
    });
  }

  /** `gaveUp` fires when nobody waits for the answer any longer. */
  #run<T>(call: Call, run: (gaveUp: AbortSignal) => Promise<T>): Promise<T> {
    const { what, timeoutMs, outcome, signal } = call;
    const closed = (known: Outcome) =>
      new SynclineError('closed', `${what}: the job store is closed`, { outcome: known });
    if (this.#isClosed) return Promise.reject(closed('not-applied'));
    if (signal?.aborted) return Promise.reject(abortedError(what, signal));
    return new Promise((resolve, reject) => {
      const gaveUp = new AbortController();
      const giveUp = (error: SynclineError) => {
        forget();
        reject(error);
        gaveUp.abort();
      };
      const timer = this.#deps.clock.setTimer(timeoutMs, () => {
        this.noteTrouble();
        const story = `${what}: no answer from Firestore within ${timeoutMs} ms`;
        giveUp(new SynclineError('timeout', story, { outcome: outcome() }));
      });
      const onAborted = () => signal && giveUp(abortedError(what, signal));
      const onClosed = () => giveUp(closed(outcome()));
      const forget = () => {
        timer.cancel();
        signal?.removeEventListener('abort', onAborted);
        this.#waiting.delete(onClosed);
      };
      signal?.addEventListener('abort', onAborted);
      this.#waiting.add(onClosed);
      const running = this.#slots
        .run(() => run(gaveUp.signal), gaveUp.signal)
        .then(resolve, (thrown: unknown) => reject(firestoreError(what, thrown, outcome())))
        .finally(() => {
          forget();
          this.#underWay.delete(running);
        });
      this.#underWay.add(running);
    });
  }

  /** Whether nothing is under way any more. */
  async #becomesQuiet(): Promise<boolean> {
    const wait = new AbortController();
    const late = this.#deps.clock.sleep(CLOSE_WAIT_MS, wait.signal).then(
      () => false,
      () => true,
    );
    const quiet = Promise.allSettled(this.#underWay).then(() => true);
    const isQuiet = await Promise.race([quiet, late]);
    wait.abort();
    return isQuiet;
  }

  async #end(): Promise<void> {
    try {
      await Promise.allSettled(this.#underWay);
      await this.#deps.firestore.terminate();
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown.message : String(thrown);
      this.#deps.logger.warn('🟡 could not end the Firestore client', { error });
    }
  }
}

// Every call to Firestore goes through here: bounded in number and time, its errors named, and a transaction
// that was overtaken by another writer tried again.
//
// We try again ourselves and not the client, which waits for seconds of real time where tens of milliseconds do.

import type { Firestore, Transaction } from '@google-cloud/firestore';
import { backoffMs, type Clock, type Outcome, type Random, SynclineError } from '@syncline/kernel';
import { CallSlots } from './call-slots.js';
import { firestoreError, isContention } from './firestore-errors.js';
import type { CheckedFirestoreOptions } from './firestore-options.js';

/** The client tries a read or a stream five times, with waits of up to 5 s in between. */
const CLIENT_RETRIES_MS = 20_000;

export interface FirestoreCallsDeps {
  readonly firestore: Firestore;
  readonly clock: Clock;
  readonly random: Random;
}

export class FirestoreCalls {
  readonly #deps: FirestoreCallsDeps;
  readonly #options: CheckedFirestoreOptions;
  readonly #slots: CallSlots;
  readonly #underWay = new Set<Promise<unknown>>();
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

  /**
   * Ends the client, and refuses what comes after. If it were ended while it still tries something, it would
   * throw where nobody can catch. So what is under way is waited for; after trouble the client is ended later,
   * and this does not wait for it.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    const { clock, firestore } = this.#deps;
    const quietMs = clock.monotonicMs() - this.#troubledAtMs;
    const end = async () => {
      await Promise.allSettled(this.#underWay);
      await firestore.terminate();
    };
    if (quietMs > CLIENT_RETRIES_MS) await end();
    else clock.setTimer(CLIENT_RETRIES_MS - quietMs, () => void end(), { unref: true });
  }

  /** A read. */
  read<T>(
    what: string,
    call: () => Promise<T>,
    timeoutMs = this.#options.callTimeoutMs,
  ): Promise<T> {
    return this.#run({ what, timeoutMs, outcome: () => 'not-applied' }, call);
  }

  /** `body` reads, then writes; it may be called again. It must not have effects of its own. */
  async transact<T>(what: string, body: (transaction: Transaction) => Promise<T>): Promise<T> {
    const { clock, random } = this.#deps;
    const { contention } = this.#options;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#transactOnce(what, body);
      } catch (thrown) {
        const isLast = attempt + 1 >= contention.attempts;
        if (isLast || !(thrown instanceof SynclineError) || !isContention(thrown)) throw thrown;
      }
      await clock.sleep(backoffMs(attempt, contention, random));
    }
  }

  #transactOnce<T>(what: string, body: (transaction: Transaction) => Promise<T>): Promise<T> {
    let outcome: Outcome = 'not-applied';
    const noted = async (transaction: Transaction) => {
      const result = await body(transaction);
      outcome = 'unknown'; // from here on the commit may arrive
      return result;
    };
    return this.#run({ what, timeoutMs: this.#options.callTimeoutMs, outcome: () => outcome }, () =>
      this.#deps.firestore.runTransaction(noted, { maxAttempts: 1 }),
    );
  }

  #run<T>(
    call: { readonly what: string; readonly timeoutMs: number; readonly outcome: () => Outcome },
    run: () => Promise<T>,
  ): Promise<T> {
    const { what, timeoutMs, outcome } = call;
    if (this.#isClosed)
      return Promise.reject(new SynclineError('closed', `${what}: the job store is closed`));
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        this.noteTrouble();
        const story = `${what}: no answer from Firestore within ${timeoutMs} ms`;
        reject(new SynclineError('timeout', story, { outcome: outcome() }));
      };
      const timer = this.#deps.clock.setTimer(timeoutMs, giveUp);
      const running = this.#slots
        .run(run)
        .then(resolve, (thrown: unknown) => reject(firestoreError(what, thrown, outcome())))
        .finally(() => {
          timer.cancel();
          this.#underWay.delete(running);
        });
      this.#underWay.add(running);
    });
  }
}

// An admitted request, until its outcome is known.
//
// F40  The outcome of an admitted request is reported at most once, and never that of a rejection.
import type { Outcome } from '../outcome.js';

export interface Admission<Answered extends readonly unknown[]> {
  /** The answer was sent. */
  finish(...answered: Answered): void;
  /** There was no complete answer, or one that says nothing about the resource. */
  abandon(): void;
  /** There was no answer to classify, yet the outcome is known. */
  settle(outcome: Outcome): void;
}

/** For requests whose outcome must not count: skipped ones, and those that shadow mode let through. */
export const UNCOUNTED: Admission<readonly unknown[]> = Object.freeze({
  finish() {},
  abandon() {},
  settle() {},
});

export class CountedAdmission<Answered extends readonly unknown[]> implements Admission<Answered> {
  readonly #report: (outcome: Outcome) => void;
  readonly #classify: (answered: Answered) => Outcome;
  #isSettled = false;

  constructor(report: (outcome: Outcome) => void, classify: (answered: Answered) => Outcome) {
    this.#report = report;
    this.#classify = classify;
  }

  finish(...answered: Answered): void {
    if (!this.#isSettled) this.settle(this.#classify(answered));
  }

  abandon(): void {
    this.settle('ignore');
  }

  settle(outcome: Outcome): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#report(outcome);
  }
}

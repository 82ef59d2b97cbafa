// What all middleware shares: it asks the tracker before a request and reports the outcome afterwards. It knows
// no framework; each middleware translates requests and answers.
//
// F41  An error of `keyGenerator`, `skip` or `cost` reaches the caller of `ask` and nothing is counted; one of
//      `classifyOutcome` is reported once and the outcome is ignored.
import type { Decision } from '../decision.js';
import type { FairTracker } from '../fair-tracker.js';
import { type Outcome, outcomeFrom } from '../outcome.js';
import { createLostErrors, type LostErrors } from '../warning-logger.js';
import {
  checkMiddlewareOptions,
  checkTracker,
  type KeyGenerator,
  type MiddlewareOptions,
  type RequestCost,
} from './middleware-options.js';

// An admitted request, until its outcome is known.
//
// F40  The outcome of an admitted request is reported at most once, and never that of a rejection.

export interface Admission<Answered extends readonly unknown[]> {
  /** The answer was sent. */
  finish(...answered: Answered): void;
  /** There was no complete answer, or one that says nothing about the resource. */
  abandon(): void;
  /** There was no answer to classify, yet the outcome is known. */
  settle(outcome: Outcome): void;
}

/** For requests whose outcome must not count: skipped ones, and those that shadow mode let through. */
const UNCOUNTED: Admission<readonly unknown[]> = Object.freeze({
  finish() {},
  abandon() {},
  settle() {},
});

class CountedAdmission<Answered extends readonly unknown[]> implements Admission<Answered> {
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

/** What a middleware decides where the user did not. */
export interface GateDefaults<
  Asked extends readonly unknown[],
  Answered extends readonly unknown[],
> {
  readonly keyGenerator: KeyGenerator<Asked>;
  readonly classifyOutcome: (...answered: Answered) => Outcome;
}

/** Options of a route. */
export interface RouteOverrides<Asked extends readonly unknown[]> {
  readonly keyGenerator?: KeyGenerator<Asked>;
  readonly cost?: RequestCost<Asked>;
}

export type Verdict<Answered extends readonly unknown[]> =
  | { readonly kind: 'admitted'; readonly admission: Admission<Answered> }
  | { readonly kind: 'rejected'; readonly decision: Decision };

export class FairGate<Asked extends readonly unknown[], Answered extends readonly unknown[]> {
  readonly #tracker: FairTracker;
  readonly #options: MiddlewareOptions<Asked, Answered>;
  readonly #defaults: GateDefaults<Asked, Answered>;
  readonly #lost: LostErrors;

  /** Throws `invalid-argument`, with `details.field`, for a tracker or options that cannot work. */
  constructor(
    tracker: FairTracker,
    options: MiddlewareOptions<Asked, Answered>,
    defaults: GateDefaults<Asked, Answered>,
  ) {
    checkTracker(tracker);
    checkMiddlewareOptions(options);
    this.#tracker = tracker;
    this.#options = options;
    this.#defaults = defaults;
    this.#lost = createLostErrors(options.logger);
  }

  /** Rejects with what the user's functions throw. */
  async ask(asked: Asked, overrides: RouteOverrides<Asked> = {}): Promise<Verdict<Answered>> {
    const { skip } = this.#options;
    if (skip !== undefined && (await skip(...asked))) return UNCOUNTED_VERDICT;
    const keyGenerator =
      overrides.keyGenerator ?? this.#options.keyGenerator ?? this.#defaults.keyGenerator;
    const key = (await keyGenerator(...asked)) ?? ''; // an empty key is untracked
    const cost = await costOf(overrides.cost ?? this.#options.cost ?? 1, asked);
    const decision = this.#tracker.register(key, { cost });
    if (decision.throttled) return { kind: 'rejected', decision };
    if (decision.wouldThrottle) return UNCOUNTED_VERDICT; // shadow mode
    const report = (outcome: Outcome) => this.#tracker.report(key, outcome, { cost });
    const classify = (answered: Answered) => this.#classify(answered);
    return { kind: 'admitted', admission: new CountedAdmission(report, classify) };
  }

  #classify(answered: Answered): Outcome {
    const classify = this.#options.classifyOutcome ?? this.#defaults.classifyOutcome;
    return outcomeFrom(
      () => classify(...answered),
      (cause) => this.#lost('classifyOutcome failed; the outcome is ignored', cause),
    );
  }
}

const UNCOUNTED_VERDICT: Verdict<readonly unknown[]> = { kind: 'admitted', admission: UNCOUNTED };

async function costOf<Asked extends readonly unknown[]>(
  cost: RequestCost<Asked>,
  asked: Asked,
): Promise<number> {
  return typeof cost === 'function' ? await cost(...asked) : cost;
}

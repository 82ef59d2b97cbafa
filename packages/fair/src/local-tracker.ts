// The tracker of one process: the thin shell around the flow table that knows the time, draws the random
// number and counts.
//
// F8  `register` and `report` are synchronous, do no I/O and never throw.
import {
  createSystemClock,
  createSystemRandom,
  SynclineError,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import { createAllowTest } from './allow-list.js';
import {
  ADMITTED,
  createRefusals,
  type Decision,
  type Explanation,
  retryAfterSeconds,
} from './decision.js';
import type {
  CostOptions,
  FairTracker,
  FairTrackerDeps,
  RunOptions,
  TrackerStatus,
} from './fair-tracker.js';
import { type FlowKey, isTrackable } from './flow-key.js';
import { FlowTable } from './flow-table.js';
import { fairLimits } from './limits.js';
import { classifySettled, type Outcome, type Settled } from './outcome.js';
import { Rotation } from './rotation.js';
import { checkOptions, type FairTrackerOptions, type TrackerSettings } from './tracker-options.js';

/** Throws `invalid-argument` or `limit-exceeded` for options that cannot work. */
export function createFairTracker(
  options: FairTrackerOptions = {},
  deps: Partial<FairTrackerDeps> = {},
): FairTracker {
  return new LocalTracker(
    {
      clock: deps.clock ?? createSystemClock(),
      random: deps.random ?? createSystemRandom(),
      logger: deps.logger ?? silentLogger,
      metrics: deps.metrics ?? silentMetrics,
    },
    options,
  );
}

const tracker = 'local';
const DECIDED = {
  admitted: { tracker, decision: 'admitted' },
  throttled: { tracker, decision: 'throttled' },
  shadow: { tracker, decision: 'shadow' },
  allowed: { tracker, decision: 'allowed' },
  untracked: { tracker, decision: 'untracked' },
} as const;
const REPORTED = {
  success: { tracker, outcome: 'success' },
  failure: { tracker, outcome: 'failure' },
  ignore: { tracker, outcome: 'ignore' },
} as const;

class LocalTracker implements FairTracker {
  readonly #deps: FairTrackerDeps;
  readonly #settings: TrackerSettings;
  readonly #table: FlowTable;
  readonly #rotation: Rotation;
  readonly #refusals: readonly Decision[];
  /** Labels of a refusal. */
  readonly #refused: (typeof DECIDED)['throttled' | 'shadow'];
  readonly #isExplaining: boolean;
  readonly #isAllowed: ((key: FlowKey) => boolean) | undefined;
  #isClosed = false;

  constructor(deps: FairTrackerDeps, options: FairTrackerOptions) {
    const { clock, logger } = deps;
    const { allowList, shadow = false, explain = false } = options;
    this.#deps = deps;
    this.#settings = checkOptions(options, deps.random);
    this.#table = new FlowTable({ ...this.#settings, ...this.#settings.shape });
    const rotationDeps = { table: this.#table, clock, logger };
    this.#rotation = new Rotation(rotationDeps, this.#settings.windowMs);
    this.#refused = shadow ? DECIDED.shadow : DECIDED.throttled;
    this.#isExplaining = explain;
    this.#refusals = createRefusals(shadow);
    this.#isAllowed = allowList && createAllowTest(allowList, logger);
  }

  register(key: FlowKey, options?: CostOptions): Decision {
    if (!isTrackable(key)) return this.#letThrough(DECIDED.untracked);
    if (this.#isClosed) return ADMITTED;
    if (this.#isAllowed?.(key)) return this.#letThrough(DECIDED.allowed);
    const { random, metrics } = this.#deps;
    const nowMs = this.#rotate();
    const probability = this.#table.probabilityOf(key, nowMs);
    const cost = costOf(options);
    const effective = this.#effective(probability, cost);
    const draw = random.float();
    const isRefused = draw < effective;
    const decision = isRefused ? this.#refusal(probability, draw / effective) : ADMITTED;
    metrics.add('syncline_fair_decisions_total', 1, isRefused ? this.#refused : DECIDED.admitted);
    if (!this.#isExplaining) return decision;
    return { ...decision, explanation: this.#explain(key, cost, nowMs) };
  }

  report(key: FlowKey, outcome: Outcome, options?: CostOptions): void {
    if (this.#isClosed || !isTrackable(key) || this.#isAllowed?.(key)) return;
    const { increment, decrement } = this.#settings.shape;
    const step = outcome === 'failure' ? increment : outcome === 'success' ? -decrement : 0;
    const counted = step > 0 ? REPORTED.failure : step < 0 ? REPORTED.success : REPORTED.ignore;
    this.#deps.metrics.add('syncline_fair_outcomes_total', 1, counted);
    if (step === 0) return;
    const nowMs = this.#rotate();
    this.#table.add(key, costOf(options) * step, nowMs);
  }

  async run<T>(key: FlowKey, fn: () => T | Promise<T>, options?: RunOptions<T>): Promise<T> {
    const { throttled, wouldThrottle, retryAfterMs } = this.register(key, options);
    if (throttled) throw throttledError(retryAfterMs);
    const classify = options?.classify ?? classifySettled;
    const settle = (settled: Settled<T>) => {
      if (!wouldThrottle) this.report(key, classify(settled), options);
    };
    let value: T;
    try {
      value = await fn();
    } catch (reason) {
      settle({ status: 'rejected', reason });
      throw reason;
    }
    settle({ status: 'fulfilled', value });
    return value;
  }

  peek(key: FlowKey): Explanation {
    return this.#explain(key, 1, this.#rotate());
  }

  status(): TrackerStatus {
    this.#rotate();
    const seeds = { main: this.#table.mainSeed, secondary: this.#table.secondarySeed };
    return { ...this.#settings.shape, seeds };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Moves to the window under way and returns the time that decay goes by: whole ms, as services count. */
  #rotate(): number {
    const monotonicMs = Math.floor(this.#deps.clock.monotonicMs());
    this.#rotation.advance(monotonicMs);
    return monotonicMs;
  }

  #effective(probability: number, cost: number): number {
    const all = cost === 1 ? probability : 1 - (1 - probability) ** cost;
    return Math.min(this.#settings.probabilityMax, all);
  }

  /** Given that it was refused, `chance` is even in [0, 1): the jitter needs no draw of its own. */
  #refusal(probability: number, chance: number): Decision {
    const seconds = retryAfterSeconds(this.#settings.decay, probability, chance);
    return this.#refusals[seconds - 1] ?? ADMITTED;
  }

  #letThrough(decided: (typeof DECIDED)['allowed' | 'untracked']): Decision {
    if (!this.#isClosed) this.#deps.metrics.add('syncline_fair_decisions_total', 1, decided);
    return ADMITTED;
  }

  #explain(key: FlowKey, cost: number, nowMs: number): Explanation {
    const explained = isTrackable(key) ? this.#table.explain(key, nowMs) : UNTRACKED;
    const effectiveProbability = this.#effective(explained.probability, cost);
    return { ...explained, cost, effectiveProbability, seed: this.#table.mainSeed };
  }
}

const UNTRACKED = {
  probability: 0,
  levels: [],
  decidingLevel: undefined,
  secondaryProbability: 0,
} as const;

function costOf(options: CostOptions | undefined): number {
  const cost = options?.cost;
  if (cost === undefined) return 1;
  const isCost = typeof cost === 'number' && cost > 0 && cost <= fairLimits.costMax.value;
  return isCost ? cost : 1;
}

function throttledError(retryAfterMs: number): SynclineError {
  const message = `throttled: this caller takes more than its fair share. Try again in ${retryAfterMs / 1000} s.`;
  return new SynclineError('throttled', message, { details: { retryAfterMs } });
}

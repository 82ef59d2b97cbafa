// The tracker: a thin shell around the flow table that reads the clock, draws the random numbers and counts.
// With a remote, a client shares its cells with other instances; decisions never wait for it.
//
// F8  `register` and `report` are synchronous, do no I/O and never throw.
import {
  type Clock,
  createSystemClock,
  createSystemRandom,
  type Random,
  SynclineError,
  silentMetrics,
} from '@syncline/kernel';
import { createAllowTest } from './allow-list.js';
import { CALL, type Call, CallCounts } from './call-counts.js';
import type { ClientStatus } from './client/client-status.js';
import { connectTracker } from './client/connect-tracker.js';
import type { SharedView } from './client/shared-view.js';
import type { StateClient } from './client/state-client.js';
import {
  ADMITTED,
  createRefusals,
  type Decision,
  type Explanation,
  retryAfterSeconds,
} from './decision.js';
import type {
  CloseOptions,
  CostOptions,
  FairTracker,
  FairTrackerDeps,
  RunOptions,
  TopCaller,
  TrackerStatus,
} from './fair-tracker.js';
import { type FlowKey, plainKey } from './flow-key.js';
import { FlowTable } from './flow-table.js';
import { fairLimits } from './limits.js';
import {
  classifySettled,
  markOwnRejection,
  type Outcome,
  outcomeFrom,
  type Settled,
} from './outcome.js';
import { Rotation } from './rotation.js';
import { ThrottledCallers } from './throttled-callers.js';
import { checkOptions, type FairTrackerOptions, type TrackerSettings } from './tracker-options.js';
import { createLostErrors, type LostErrors, warningLogger } from './warning-logger.js';

/** Throws `invalid-argument` or `limit-exceeded` if the options are invalid. */
export function createFairTracker(
  options: FairTrackerOptions = {},
  deps: Partial<FairTrackerDeps> = {},
): FairTracker {
  return new Tracker(
    {
      clock: deps.clock ?? createSystemClock(),
      random: deps.random ?? createSystemRandom(),
      logger: deps.logger ?? warningLogger,
      metrics: deps.metrics ?? silentMetrics,
    },
    options,
  );
}

const CLOSE_TIMEOUT_MS = 1_000;
const TOP_CALLERS = 10;

class Tracker implements FairTracker {
  readonly #deps: FairTrackerDeps;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #settings: TrackerSettings;
  readonly #table: FlowTable;
  readonly #rotation: Rotation;
  readonly #refusals: readonly Decision[];
  readonly #callers = new ThrottledCallers();
  readonly #counts: CallCounts;
  /** The change of a cell by one failure, and by one success. */
  readonly #failureStep: number;
  readonly #successStep: number;
  /** How a refusal is counted. */
  readonly #refused: Call;
  readonly #probabilityMax: number;
  readonly #isExplaining: boolean;
  readonly #isAllowed: ((key: FlowKey) => boolean) | undefined;
  /** Undefined for a tracker of one process. */
  readonly #client: StateClient | undefined;
  readonly #lost: LostErrors;
  #closing: Promise<void> | undefined;
  #hasReportedClosed = false;

  constructor(deps: FairTrackerDeps, options: FairTrackerOptions) {
    const { clock, logger } = deps;
    const { allowList, shadow = false, explain = false } = options;
    this.#deps = deps;
    this.#clock = clock;
    this.#random = deps.random;
    this.#settings = checkOptions(options, deps.random);
    const { shape, windowMs, label, shared } = this.#settings;
    this.#probabilityMax = this.#settings.probabilityMax;
    this.#failureStep = shape.increment;
    this.#successStep = -shape.decrement;
    this.#table = new FlowTable({ ...this.#settings, ...shape, isShared: shared !== undefined });
    const onRotated = (lostCells: number) => {
      this.#callers.halve();
      this.#client?.rotated(lostCells);
    };
    this.#rotation = new Rotation({ table: this.#table, clock, logger, onRotated }, windowMs);
    this.#counts = new CallCounts(deps, label);
    this.#refused = shadow ? CALL.shadow : CALL.throttled;
    this.#isExplaining = explain;
    this.#lost = createLostErrors(logger);
    this.#refusals = createRefusals(shadow);
    this.#isAllowed = allowList && createAllowTest(allowList, logger);
    this.#client = shared && connectTracker(deps, this.#view(), this.#settings, shared);
    this.#client?.start();
  }

  register(key: FlowKey, options?: CostOptions): Decision {
    const flow = typeof key === 'string' ? key : plainKey(key);
    if (flow === '') return this.#letThrough(CALL.untracked);
    if (this.#closing) return this.#admitClosed();
    if (this.#isAllowed?.(key)) return this.#letThrough(CALL.allowed);
    const cost = options === undefined ? 1 : costOf(options);
    const draw = this.#random.float();
    // Time can only lower a probability, so most requests are admitted without reading the clock.
    const isAdmitted = cost === 1 && this.#table.isAlwaysAtMost(draw, flow);
    if (!isAdmitted || this.#isExplaining) return this.#decide(flow, cost, draw);
    this.#counts.add(CALL.admitted);
    return ADMITTED;
  }

  #decide(flow: FlowKey, cost: number, draw: number): Decision {
    const nowMs = this.#rotate();
    const probability = this.#table.probabilityOf(flow, nowMs);
    const effective = this.#effective(probability, cost);
    const isRefused = draw < effective;
    const decision = isRefused ? this.#refusal(flow, probability, draw / effective) : ADMITTED;
    this.#counts.add(isRefused ? this.#refused : CALL.admitted);
    if (!this.#isExplaining) return decision;
    return { ...decision, explanation: this.#explain(flow, cost, nowMs) };
  }

  report(key: FlowKey, outcome: Outcome, options?: CostOptions): void {
    const flow = typeof key === 'string' ? key : plainKey(key);
    if (flow === '' || this.#closing) return;
    if (this.#isAllowed?.(key)) return;
    const step =
      outcome === 'failure' ? this.#failureStep : outcome === 'success' ? this.#successStep : 0;
    this.#counts.add(step > 0 ? CALL.failure : step < 0 ? CALL.success : CALL.ignore);
    if (step === 0) {
      if (outcome !== 'ignore') this.#lost(UNKNOWN_OUTCOME, outcome);
      return;
    }
    const client = this.#client;
    // Reading the clock is a third of the cost, and most callers are never throttled.
    if (step < 0 && client === undefined && this.#table.isClear(flow)) return;
    const nowMs = this.#rotate();
    const delta = options === undefined ? step : costOf(options) * step;
    if (client === undefined) {
      this.#table.add(flow, delta, nowMs);
      return;
    }
    this.#table.addShared(flow, delta, client.gain, nowMs);
    client.noteOutcome();
  }

  async run<T>(key: FlowKey, fn: () => T | Promise<T>, options?: RunOptions<T>): Promise<T> {
    const { throttled, wouldThrottle, retryAfterMs } = this.register(key, options);
    if (throttled) throw throttledError(retryAfterMs);
    const classify = options?.classify ?? classifySettled;
    const settle = (settled: Settled<T>) => {
      if (wouldThrottle) return;
      const report = (cause: unknown) => this.#lost(CLASSIFY_FAILED, cause);
      this.report(
        key,
        outcomeFrom(() => classify(settled), report),
        options,
      );
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
    return this.#explain(plainKey(key), 1, this.#rotate());
  }

  top(count = TOP_CALLERS): readonly TopCaller[] {
    const nowMs = this.#rotate();
    return this.#callers.top(count).map(({ key, ...counts }) => ({
      key,
      ...counts,
      probability: this.#table.probabilityOf(key, nowMs),
    }));
  }

  status(): TrackerStatus {
    this.#rotate();
    this.#counts.publish();
    const { main, secondary } = this.#table;
    const seeds = { main: main.seed, secondary: secondary.seed };
    return { ...this.#settings.shape, ...(this.#client?.status() ?? ALONE), seeds };
  }

  async close({ timeoutMs = CLOSE_TIMEOUT_MS }: CloseOptions = {}): Promise<void> {
    this.#counts.publish();
    this.#closing ??= this.#client?.close(timeoutMs) ?? Promise.resolve();
    await this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Moves to the current window and returns the time for decay: whole ms, as in services. */
  #rotate(): number {
    const monotonicMs = Math.floor(this.#clock.monotonicMs());
    if (monotonicMs >= this.#rotation.dueAtMs) this.#rotation.advance(monotonicMs);
    return monotonicMs;
  }

  /** The table as the client sees it. */
  #view(): SharedView {
    const table = this.#table;
    const { levels, columns } = this.#settings.shape;
    return {
      levels,
      columns,
      get main() {
        return table.main;
      },
      get secondary() {
        return table.secondary;
      },
      rotate: () => this.#rotate(),
    };
  }

  #effective(probability: number, cost: number): number {
    const all = cost === 1 ? probability : 1 - (1 - probability) ** cost;
    return Math.min(this.#probabilityMax, all);
  }

  /** For a refused request `chance` is uniform in [0, 1), so the jitter needs no draw of its own. */
  #refusal(flow: FlowKey, probability: number, chance: number): Decision {
    this.#callers.note(flow);
    const seconds = retryAfterSeconds(this.#settings.decay, probability, chance);
    return this.#refusals[seconds - 1] ?? ADMITTED;
  }

  #letThrough(call: Call): Decision {
    if (!this.#closing) this.#counts.add(call);
    return ADMITTED;
  }

  /** Reported once: a service whose tracker was closed works, but throttles no one. */
  #admitClosed(): Decision {
    if (!this.#hasReportedClosed) this.#deps.logger.warn(USED_AFTER_CLOSE);
    this.#hasReportedClosed = true;
    return ADMITTED;
  }

  #explain(key: FlowKey, cost: number, nowMs: number): Explanation {
    const explained = key === '' ? UNTRACKED : this.#table.explain(key, nowMs);
    const effectiveProbability = this.#effective(explained.probability, cost);
    return {
      ...explained,
      cost,
      effectiveProbability,
      seed: this.#table.main.seed,
      gain: this.#client?.gain ?? 1,
      synced: this.#client?.isConnected ?? false,
    };
  }
}

const UNKNOWN_OUTCOME =
  "report received an outcome other than 'success', 'failure' or 'ignore'; ignored";
const CLASSIFY_FAILED = 'classify failed; the outcome is ignored';

const USED_AFTER_CLOSE =
  'the tracker is closed, so register admits all requests. Was it created with "await using" at the top level of a module? That closes it at the end of the module: use "const", and close it when the service stops';

const ALONE: ClientStatus = {
  connected: false,
  epoch: 0,
  activeInstances: 1,
  pendingCells: 0,
  msSinceSync: undefined,
  gain: 1,
  refused: undefined,
};

const UNTRACKED = {
  probability: 0,
  levels: [],
  decidingLevel: undefined,
  secondaryProbability: 0,
} as const;

function costOf(options: CostOptions | undefined): number {
  if (options === undefined) return 1;
  try {
    const { cost } = options;
    const isCost = typeof cost === 'number' && cost > 0 && cost <= fairLimits.costMax.value;
    return isCost ? cost : 1;
  } catch {
    return 1; // a getter threw, or this is not an options object: F8
  }
}

function throttledError(retryAfterMs: number): SynclineError {
  const message = `throttled: this caller takes more than its fair share. Try again in ${retryAfterMs / 1000} s.`;
  const error = new SynclineError('throttled', message, { details: { retryAfterMs } });
  markOwnRejection(error);
  return error;
}

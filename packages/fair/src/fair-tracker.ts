// The interface of a tracker: it decides before a request (`register`) and learns from its outcome (`report`).
// Both are on the hot path of every request, so neither waits, does I/O or throws.
import type { Clock, Logger, Metrics, Random } from '@syncline/kernel';
import type { Refusal } from './client/client-status.js';
import type { Decision, Explanation } from './decision.js';
import type { FlowKey } from './flow-key.js';
import type { FairMetricName } from './metrics-list.js';
import type { Outcome, Settled } from './outcome.js';
import type { ThrottledCaller } from './throttled-callers.js';
import type { FairShape } from './tuning.js';

export interface FairTrackerDeps {
  readonly clock: Clock;
  /** Used once per decision, so it should be a fast generator, not a system call. */
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics<FairMetricName>;
}

export interface CostOptions {
  /** How many requests this one counts as, in (0, 1000]. Default 1; anything else counts as 1. */
  readonly cost?: number;
}

export interface RunOptions<T> extends CostOptions {
  /** Default: success when `fn` resolves, failure for "too many" errors, else ignore. */
  classify?(settled: Settled<T>): Outcome;
}

export interface CloseOptions {
  /** How long to wait for the last outcomes to be acknowledged. Default 1,000 ms. */
  readonly timeoutMs?: number;
}

export interface TrackerStatus extends FairShape {
  /** Whether this instance is in sync with the shared state. Always false without a remote. */
  readonly connected: boolean;
  /** The epoch of the shared state that this instance is, or last was, in sync with; 0 if there was none. */
  readonly epoch: number;
  /** Instances that share the state, including this one, as last reported. */
  readonly activeInstances: number;
  /** Cells with outcomes that the shared state has not acknowledged. */
  readonly pendingCells: number;
  /** Time since the last message from the shared state; undefined if there was none. */
  readonly msSinceSync: number | undefined;
  /** Factor applied to outcomes: above 1 while the shared state is unreachable. */
  readonly gain: number;
  /** Why the shared state refuses this instance, which then decides alone; undefined while it does not. */
  readonly refused: Refusal | undefined;
  /** Starts of the windows of the two structures, in ms since 1970. */
  readonly seeds: { readonly main: number; readonly secondary: number };
}

export interface TopCaller extends ThrottledCaller {
  /** The probability that its next request is refused, if the key was not truncated. */
  readonly probability: number;
}

export interface FairTracker extends AsyncDisposable {
  /** Decides whether to serve a request now. Call it once per request. */
  register(key: FlowKey, options?: CostOptions): Decision;
  /** Reports the outcome of an admitted request. In shadow mode, omit requests with `wouldThrottle`. */
  report(key: FlowKey, outcome: Outcome, options?: CostOptions): void;
  /** Calls `register`, the function and `report`. Rejects with `throttled` and `details.retryAfterMs`. */
  run<T>(key: FlowKey, fn: () => T | Promise<T>, options?: RunOptions<T>): Promise<T>;
  /** Explains how a request would be decided now. Draws no random number and changes no cell. */
  peek(key: FlowKey): Explanation;
  /**
   * The callers that were refused most (default: 10), highest first, at most 256. Keys stay
   * in this process: the shared state never sees them.
   */
  top(count?: number): readonly TopCaller[];
  status(): TrackerStatus;
  /** Sends pending outcomes. Afterwards `register` admits everything and `report` does nothing. */
  close(options?: CloseOptions): Promise<void>;
}

// What is said between a test and an instance that it has started: one line of JSON to it, one line back.
import type { FairTrackerOptions, TrackerStatus } from '@syncline/fair';

export interface InstanceOptions {
  readonly via: 'grpc' | 'redis';
  /** `127.0.0.1:7401` for gRPC, a URL for Redis. */
  readonly address: string;
  readonly tracker: string;
  /** Of the load. 0 for none. */
  readonly decisionsPerSecond: number;
  /** What JSON can carry. */
  readonly options: Pick<
    FairTrackerOptions,
    | 'policy'
    | 'lambdaPerSecond'
    | 'leakPerSecond'
    | 'windowMs'
    | 'outageGain'
    | 'flushIntervalMs'
    | 'retryBudgetMs'
  >;
}

export type InstanceRequest =
  | { readonly ask: 'status' }
  /** Each failure counts as `cost` requests. */
  | {
      readonly ask: 'fail';
      readonly key: string;
      readonly times: number;
      readonly cost: number;
    }
  | { readonly ask: 'peek'; readonly keys: readonly string[] }
  /** What the load has seen since it was asked last. */
  | { readonly ask: 'figures' };

export interface InstanceStatus extends TrackerStatus {
  /** Wall time at which it was seen connected, if it is. */
  readonly connectedAtMs: number | undefined;
  /** Thrown by the tracker, or by nobody knows whom: none is expected. */
  readonly errors: readonly string[];
}

export interface InstanceCell {
  readonly level: number;
  readonly column: number;
  readonly probability: number;
}

/** The cells of each key that was asked for, in the main structure. */
export interface InstanceView {
  readonly seed: number;
  readonly keys: readonly (readonly InstanceCell[])[];
}

export interface LoadFigures {
  readonly decisions: number;
  readonly throttled: number;
  /** Real time since the figures were asked for last. */
  readonly elapsedMs: number;
  readonly registerP50Us: number;
  readonly registerP99Us: number;
  /** The longest time between two bursts of the load: what else the process did. */
  readonly longestPauseMs: number;
}

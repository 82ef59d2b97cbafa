// The protocol between a test and an instance that it started: one line of JSON per request and answer.
import type { FairTrackerOptions, TrackerStatus } from '@syncline/fair';

export interface InstanceOptions {
  readonly via: 'grpc' | 'redis';
  /** `127.0.0.1:7401` for gRPC, a URL for Redis. */
  readonly address: string;
  readonly tracker: string;
  /** Decisions per second of the load. 0 for none. */
  readonly decisionsPerSecond: number;
  /** The options that JSON can carry. */
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
  /** What the load has seen since the last request. */
  | { readonly ask: 'figures' };

export interface InstanceStatus extends TrackerStatus {
  /** Wall time at which it was seen connected, if it is. */
  readonly connectedAtMs: number | undefined;
  /** Errors thrown by the tracker or unhandled: none is expected. */
  readonly errors: readonly string[];
}

export interface InstanceCell {
  readonly level: number;
  readonly column: number;
  readonly probability: number;
}

/** The cells of each requested key, in the main structure. */
export interface InstanceView {
  readonly seed: number;
  readonly keys: readonly (readonly InstanceCell[])[];
}

export interface LoadFigures {
  readonly decisions: number;
  readonly throttled: number;
  /** Real time since the figures were last requested. */
  readonly elapsedMs: number;
  readonly registerP50Us: number;
  readonly registerP99Us: number;
  /** The longest time between two bursts of the load: what else the process did. */
  readonly longestPauseMs: number;
}

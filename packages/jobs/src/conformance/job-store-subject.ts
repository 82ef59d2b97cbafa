// The subject of the store suite: an empty store, its clock, and what can be done to it from outside. All faults are
// optional.
import type { Clock } from '@syncline/kernel';
import type { ConformanceCase } from '@syncline/kernel/testing';
import type { JobStore, StoreCapabilities } from '../job-store.js';

export interface JobStoreSubject {
  /** An empty store. After a restart it is a different one, so read it each time. */
  readonly store: JobStore;
  /** The clock that cases wait with: the simulated one in a simulation. */
  readonly clock: Clock;
}

/** What can happen to a store of kind `S`. A fault resolves when it is over; its effects may last longer. */
export interface JobStoreFaults<S extends JobStoreSubject> {
  /** Breaks the connections of subscribers. They reconnect by themselves. */
  readonly cut?: (subject: S) => Promise<void> | void;
  /** From now on, changes that were replaced by later ones are gone. */
  readonly compact?: (subject: S) => Promise<void> | void;
  /** Everything is slow for a moment: disk, network, or the process. */
  readonly stall?: (subject: S) => Promise<void> | void;
  /** Ends the store, cleanly or not, and reopens it. What was acknowledged is still there. */
  readonly restart?: (subject: S) => Promise<void> | void;
  /** The wall clock of the store jumps, forward or back. */
  readonly stepClock?: (subject: S, ms: number) => Promise<void> | void;
}

export type FaultName = keyof JobStoreFaults<JobStoreSubject>;

export interface JobStoreSuiteOptions<S extends JobStoreSubject> {
  /** Part of failure messages and of every seed. */
  readonly name: string;
  /** Called once per case; its result is disposed of afterwards. */
  readonly create: () => Promise<S & AsyncDisposable>;
  readonly capabilities: StoreCapabilities;
  readonly faults?: JobStoreFaults<S>;
  /** Timers that the store has set and that have not fired. `TimerCount` counts those of a clock. */
  readonly pendingTimers?: (subject: S) => number;
  /** `simulated`: waiting costs nothing, so cases also wait for what takes long. Default `real`. */
  readonly time?: 'simulated' | 'real';
  /** How many random histories are run, one per case. Default 20. */
  readonly histories?: number;
  /** The maximum number of steps of each actor of a history: for a store whose steps are slow. Default 12. */
  readonly historyStepsMax?: number;
}

/** A case receives the store's capabilities, so that it requires no more. */
export interface CaseContext<S extends JobStoreSubject = JobStoreSubject> {
  readonly subject: S;
  readonly capabilities: StoreCapabilities;
  readonly faults: JobStoreFaults<S>;
  readonly time: 'simulated' | 'real';
  readonly pendingTimers?: ((subject: S) => number) | undefined;
}

/** A case that does not apply is listed too, under a name that says why, and does nothing. */
export interface JobStoreCase extends ConformanceCase {
  /** Why it was left out. */
  readonly skipped?: string;
}

export type Cases = Readonly<Record<string, (context: CaseContext) => Promise<void>>>;

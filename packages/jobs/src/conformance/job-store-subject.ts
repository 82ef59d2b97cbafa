// What the store suite is given: an empty store, the time that it lives in, and what can be done to it from
// outside. Faults are chosen by what there is: each is optional.
import type { Clock } from '@syncline/kernel';
import type { ConformanceCase } from '@syncline/kernel/testing';
import type { JobStore, StoreCapabilities } from '../job-store.js';

export interface JobStoreSubject {
  /** An empty store. After a restart it is another one, so ask each time. */
  readonly store: JobStore;
  /** The time in which cases wait: the simulated one in a simulation. */
  readonly clock: Clock;
}

/** What can happen to a store of kind `S`. A fault returns when it is over; what follows it may take longer. */
export interface JobStoreFaults<S extends JobStoreSubject> {
  /** Breaks the connections of subscribers. They come back by themselves. */
  readonly cut?: (subject: S) => Promise<void> | void;
  /** From now on changes that later ones replaced are gone. */
  readonly compact?: (subject: S) => Promise<void> | void;
  /** Everything takes its time for a moment: disk, network, or the process. */
  readonly stall?: (subject: S) => Promise<void> | void;
  /** Ends the store, in an orderly way or not, and opens it again. What was acknowledged is still there. */
  readonly restart?: (subject: S) => Promise<void> | void;
  /** The wall clock of the store jumps, forth or back. */
  readonly stepClock?: (subject: S, ms: number) => Promise<void> | void;
}

export type FaultName = keyof JobStoreFaults<JobStoreSubject>;

export interface JobStoreSuiteOptions<S extends JobStoreSubject> {
  /** Stands in failures, and is part of every seed. */
  readonly name: string;
  /** Called once per case, and what it made is disposed of after it. */
  readonly create: () => Promise<S & AsyncDisposable>;
  readonly capabilities: StoreCapabilities;
  readonly faults?: JobStoreFaults<S>;
  /** Timers that the store has set and that have not fired. `TimerCount` counts those of a clock. */
  readonly pendingTimers?: (subject: S) => number;
  /** `simulated`: waiting costs nothing, so cases wait for what takes long. Default `real`. */
  readonly time?: 'simulated' | 'real';
  /** How many random histories are run, one per case. Default 20. */
  readonly histories?: number;
  /** How many steps each actor of a history takes at most: for a store whose steps are slow. Default 12. */
  readonly historyStepsMax?: number;
}

/** A case is told what the store promises, so that it asks for no more. */
export interface CaseContext<S extends JobStoreSubject = JobStoreSubject> {
  readonly subject: S;
  readonly capabilities: StoreCapabilities;
  readonly faults: JobStoreFaults<S>;
  readonly time: 'simulated' | 'real';
  readonly pendingTimers?: ((subject: S) => number) | undefined;
}

/** One that does not apply is there too, under a name that says why, and does nothing. */
export interface JobStoreCase extends ConformanceCase {
  /** Why it was left out. */
  readonly skipped?: string;
}

export type Cases = Readonly<Record<string, (context: CaseContext) => Promise<void>>>;

// Which parts of the suite do not apply to a store, and why, so that they are not mistaken for passed.
import type {
  FaultName,
  JobStoreCase,
  JobStoreFaults,
  JobStoreSubject,
} from './job-store-subject.js';

/** What random histories lack when a fault is not given. */
const HISTORIES_WITH: Readonly<Record<FaultName, string>> = {
  cut: 'subscribers lose their connections',
  compact: 'replaced changes go away',
  stall: 'everything takes its time',
  restart: 'the store is restarted',
  stepClock: 'the clock steps',
};

export function leftOutCase(name: string, reason: string): JobStoreCase {
  return { name: `left out, ${reason}: ${name}`, skipped: reason, run: async () => {} };
}

export function leftOutHistories<S extends JobStoreSubject>(
  faults: JobStoreFaults<S>,
): readonly JobStoreCase[] {
  return Object.entries(HISTORIES_WITH)
    .filter(([fault]) => !(fault in faults))
    .map(([fault, what]) => leftOutCase(`histories in which ${what}`, notGiven(`faults.${fault}`)));
}

export function notGiven(option: string): string {
  return `${option} is not given`;
}

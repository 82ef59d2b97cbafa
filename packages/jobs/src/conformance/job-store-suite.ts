// The contract of every JobStore: memory, embedded, remote, Firestore, and yours. Managers rely on nothing else, so
// where jobs are stored is purely an operational choice.
//
// There is one file per behavior, selected by what the store promises and by what can be done to it; then random
// histories, in which every stream is checked. Cases that do not apply are listed as left out, with the reason.
import { aggregateCases } from './cases/aggregate-cases.js';
import { clockCases } from './cases/clock-cases.js';
import { closeCases, timerCases } from './cases/close-cases.js';
import { createCases } from './cases/create-cases.js';
import { deleteCases } from './cases/delete-cases.js';
import { globalCases } from './cases/global-cases.js';
import { inputCases } from './cases/input-cases.js';
import { leaseCases, lostCases } from './cases/lease-cases.js';
import { listCases } from './cases/list-cases.js';
import { overflowCases } from './cases/overflow-cases.js';
import { referenceCases } from './cases/reference-cases.js';
import { compactionCases, resumeCases } from './cases/resume-cases.js';
import { subscribeCases } from './cases/subscribe-cases.js';
import { writeCases } from './cases/write-cases.js';
import { historyCases } from './history/history-cases.js';
import type {
  CaseContext,
  Cases,
  JobStoreCase,
  JobStoreSubject,
  JobStoreSuiteOptions,
} from './job-store-subject.js';
import { leftOutCase, leftOutHistories, notGiven } from './left-out-cases.js';

export function jobStoreSuite<S extends JobStoreSubject>(
  options: JobStoreSuiteOptions<S>,
): readonly JobStoreCase[] {
  const { faults = {} } = options;
  return [
    ...groupsFor(options).flatMap((group) => casesOf(group, options)),
    ...historyCases(options),
    ...leftOutHistories(faults),
  ];
}

interface Group {
  readonly cases: Cases;
  /** Why they do not apply. */
  readonly leftOut?: string | undefined;
}

function groupsFor<S extends JobStoreSubject>({
  capabilities,
  faults = {},
  pendingTimers,
}: JobStoreSuiteOptions<S>): readonly Group[] {
  const unlessGiven = (option: string, value: unknown) => (value ? undefined : notGiven(option));
  const compaction =
    capabilities.history === 'latest'
      ? 'the store keeps the latest changes alone'
      : unlessGiven('faults.compact', faults.compact);
  return [
    { cases: createCases },
    { cases: writeCases },
    { cases: leaseCases },
    { cases: lostCases },
    { cases: aggregateCases },
    { cases: listCases },
    { cases: subscribeCases },
    { cases: resumeCases },
    { cases: compactionCases, leftOut: compaction },
    { cases: overflowCases },
    { cases: deleteCases },
    { cases: globalCases },
    { cases: inputCases },
    { cases: clockCases, leftOut: unlessGiven('faults.stepClock', faults.stepClock) },
    { cases: closeCases },
    { cases: timerCases, leftOut: unlessGiven('pendingTimers', pendingTimers) },
    { cases: referenceCases },
  ];
}

function casesOf<S extends JobStoreSubject>(
  { cases, leftOut }: Group,
  { create, capabilities, faults = {}, time = 'real', pendingTimers }: JobStoreSuiteOptions<S>,
): readonly JobStoreCase[] {
  return Object.entries(cases).map(([name, check]) => {
    if (leftOut !== undefined) return leftOutCase(name, leftOut);
    const run = async () => {
      await using subject = await create();
      const context: CaseContext<S> = { subject, capabilities, faults, time, pendingTimers };
      await check(context as unknown as CaseContext);
    };
    return { name, run };
  });
}

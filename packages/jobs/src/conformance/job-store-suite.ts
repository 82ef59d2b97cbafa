// What every JobStore keeps: memory, embedded, remote, Firestore, and yours. Managers rely on nothing else, so
// that where jobs live is a matter of operation alone.
//
// One file per behaviour, chosen by what the store promises and by what can be done to it; then random
// histories, whose every stream is checked.
import type { ConformanceCase } from '@syncline/kernel/testing';
import { aggregateCases } from './cases/aggregate-cases.js';
import { clockCases } from './cases/clock-cases.js';
import { closeCases } from './cases/close-cases.js';
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
  JobStoreSubject,
  JobStoreSuiteOptions,
} from './job-store-subject.js';

export function jobStoreSuite<S extends JobStoreSubject>(
  options: JobStoreSuiteOptions<S>,
): readonly ConformanceCase[] {
  const { create, capabilities, faults = {}, time = 'real' } = options;
  const cases: Cases = {
    ...createCases,
    ...writeCases,
    ...leaseCases,
    ...lostCases,
    ...aggregateCases,
    ...listCases,
    ...subscribeCases,
    ...resumeCases,
    ...(faults.compact && capabilities.history === 'all' && compactionCases),
    ...overflowCases,
    ...deleteCases,
    ...globalCases,
    ...inputCases,
    ...(faults.stepClock && clockCases),
    ...closeCases,
    ...referenceCases,
  };
  const behaviours = Object.entries(cases).map(([name, check]) => ({
    name,
    async run() {
      await using subject = await create();
      const context: CaseContext<S> = { subject, capabilities, faults, time };
      await check(context as unknown as CaseContext);
    },
  }));
  return [...behaviours, ...historyCases(options)];
}

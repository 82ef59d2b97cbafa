// Random histories as cases: concurrent writers, readers that are cut, slow or late, deletions and faults, with
// every stream and read checked. A failure prints the seed, a small plan that fails, and what was seen.
import assert from 'node:assert/strict';
import type { ConformanceCase } from '@syncline/kernel/testing';
import { createSeededRandom } from '@syncline/kernel/testing';
import type {
  CaseContext,
  FaultName,
  JobStoreSubject,
  JobStoreSuiteOptions,
} from '../job-store-subject.js';
import { type HistoryPlan, planHistory } from './history-plan.js';
import { type HistoryOutcome, runHistory } from './run-history.js';
import { shrinkHistory } from './shrink-history.js';

const HISTORIES = 20;
const STEPS_MAX = 12;
const PROBLEMS_SHOWN = 12;

export function historyCases<S extends JobStoreSubject>(
  options: JobStoreSuiteOptions<S>,
): readonly ConformanceCase[] {
  const { name, histories = HISTORIES } = options;
  return Array.from({ length: histories }, (_, index) => ({
    name: `J1 J2 J5 J6 J7 J8 J9 J10 J12 J16 J19 a random history, seed ${name}-${index}`,
    run: () => checkHistory(options, `${name}-${index}`),
  }));
}

/** Throws if the history of this seed fails. */
async function checkHistory<S extends JobStoreSubject>(
  options: JobStoreSuiteOptions<S>,
  seed: string,
): Promise<void> {
  const plan = planOf(options, seed);
  const outcome = await runPlan(options, plan);
  if (outcome.problems.length === 0) return;
  const kind = kindOf(outcome.problems[0]);
  const fails = async (one: HistoryPlan) =>
    (await runPlan(options, one)).problems.some((problem) => kindOf(problem) === kind);
  const smallest = await shrinkHistory(plan, fails);
  const again = await runPlan(options, smallest);
  const shown = again.problems.length > 0 ? { plan: smallest, ...again } : { plan, ...outcome };
  assert.fail(describeFailure(seed, shown));
}

/** Runs the history of a seed, without checking it. */
export function runSeed<S extends JobStoreSubject>(
  options: JobStoreSuiteOptions<S>,
  seed: string,
): Promise<HistoryOutcome> {
  return runPlan(options, planOf(options, seed));
}

function planOf<S extends JobStoreSubject>(
  { faults = {}, time = 'real', historyStepsMax: stepsMax = STEPS_MAX }: JobStoreSuiteOptions<S>,
  seed: string,
): HistoryPlan {
  const names = Object.keys(faults) as readonly FaultName[];
  return planHistory(createSeededRandom(seed), { faults: names, time, stepsMax });
}

/** An error thrown by a run is a problem like any other: it is shrunk and reported in the same way. */
async function runPlan<S extends JobStoreSubject>(
  options: JobStoreSuiteOptions<S>,
  plan: HistoryPlan,
): Promise<HistoryOutcome> {
  const { create, capabilities, faults = {}, time = 'real' } = options;
  await using subject = await create();
  const context: CaseContext<S> = { subject, capabilities, faults, time };
  try {
    return await runHistory(context as unknown as CaseContext, plan);
  } catch (thrown) {
    const story = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
    return { problems: [story], traces: [], reached: new Set() };
  }
}

/** A different failure is not the one being shrunk. */
function kindOf(problem = ''): string {
  return problem.slice(0, problem.indexOf(':'));
}

function describeFailure(
  seed: string,
  { plan, problems, traces }: HistoryOutcome & { readonly plan: HistoryPlan },
): string {
  const more = problems.length - PROBLEMS_SHOWN;
  return [
    `the history of seed ${seed} fails:`,
    ...problems.slice(0, PROBLEMS_SHOWN).map((problem) => `  ${problem}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
    `plan: ${JSON.stringify(plan)}`,
    ...traces,
  ].join('\n');
}

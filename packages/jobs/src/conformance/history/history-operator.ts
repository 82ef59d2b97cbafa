// The outside influences: an operator that changes, deletes and recreates the job, and faults.
import { SynclineError } from '@syncline/kernel';
import { JOB_ID } from '../job-samples.js';
import type { FaultStep, OperatorStep } from './history-plan.js';
import type { HistoryWorld } from './history-world.js';

export async function runOperator(
  world: HistoryWorld,
  steps: readonly (OperatorStep & { readonly waitMs: number })[],
): Promise<void> {
  for (const step of steps) {
    if (step.waitMs > 0) await world.sleep(step.waitMs);
    await world.ensureJob();
    if (step.do === 'update') await update(world, step.expectedTags);
    else await recreate(world, step.isMarkedFirst);
  }
}

async function update(world: HistoryWorld, expectedTags: readonly string[]): Promise<void> {
  const job = await world.attempt(() => world.store.updateJob(JOB_ID, { expectedTags }));
  if (!(job instanceof SynclineError)) world.log.addJob(job);
}

async function recreate(world: HistoryWorld, isMarkedFirst: boolean): Promise<void> {
  if (isMarkedFirst) {
    const job = await world.attempt(() => world.store.markJobDeleted(JOB_ID));
    if (!(job instanceof SynclineError) && !world.hasLostAnswers) world.log.addJob(job);
  }
  const deleted = await world.attempt(() => world.store.deleteJob(JOB_ID));
  if (deleted instanceof SynclineError) throw deleted;
  await world.ensureJob();
}

export async function runFaults(
  world: HistoryWorld,
  steps: readonly (FaultStep & { readonly waitMs: number })[],
): Promise<void> {
  const { faults, subject } = world.context;
  for (const step of steps) {
    if (step.waitMs > 0) await world.sleep(step.waitMs);
    if (step.do === 'restart') await world.restart();
    else if (step.do === 'stepClock') await faults.stepClock?.(subject, step.ms);
    else await faults[step.do]?.(subject);
  }
}

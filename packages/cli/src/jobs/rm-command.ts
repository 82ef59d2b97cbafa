// `syncline jobs rm`: deletes a job permanently or marks it as deleted. Asks for confirmation unless given --yes.
import { SynclineError } from '@syncline/kernel';
import type { Command } from 'commander';
import { type CliWorld, say } from '../cli-world.js';
import { addExamples } from '../examples.js';
import { printable, printableJson } from '../printable.js';
import { fetchAnswer } from '../status/fetch-answer.js';
import { type StatusTarget, statusTarget } from '../status/status-target.js';
import { isRemoval, type JobAnswer } from './job-answers.js';
import {
  addServerOptions,
  fetchJob,
  type JobCommandOptions,
  jobPath,
  rethrowAsCliError,
  undefinedIfDamaged,
} from './job-target.js';

interface RmOptions extends JobCommandOptions {
  readonly mark?: true;
  readonly yes?: true;
}

export function addRmCommand(jobs: Command, world: CliWorld): void {
  const command = jobs.command('rm <job>').description('Delete a job, or mark it as deleted');
  addExamples(command, [
    ['syncline jobs rm nightly-42', 'delete permanently, after confirmation'],
    ['syncline jobs rm nightly-42 --mark', 'refuse writes, but keep it readable'],
    ['syncline jobs rm nightly-42 --yes', 'without confirmation, for scripts'],
  ]);
  command
    .option(
      '--mark',
      'Mark it as deleted: it refuses writes for good, stays readable, and is removed after jobs.retention.marked',
    )
    .option('--yes', 'Do not ask for confirmation, with or without --mark');
  addServerOptions(command, 'Print JSON').action((jobId: string, options: RmOptions) =>
    remove(world, jobId, options),
  );
}

async function remove(world: CliWorld, jobId: string, options: RmOptions): Promise<void> {
  const target = statusTarget(options, world.environment);
  const isMark = options.mark === true;
  if (options.yes !== true) await confirm(world, { target, jobId, isMark });
  const query = new URLSearchParams(isMark ? { mark: '' } : {});
  const path = jobPath(jobId, query);
  const answer = await fetchAnswer(target, path, isRemoval, { method: 'DELETE' }).catch(
    rethrowAsCliError(jobId),
  );
  const done = isMark ? 'is marked as deleted' : 'is deleted';
  if (options.json) world.stdout.write(`${printableJson(answer, 0)}\n`);
  else say(world, `Job ${printable(jobId)} ${done}.`);
}

interface Removal {
  readonly target: StatusTarget;
  readonly jobId: string;
  readonly isMark: boolean;
}

async function confirm(world: CliWorld, { target, jobId, isMark }: Removal): Promise<void> {
  const found = await fetchJob(target, jobId, {}).catch(undefinedIfDamaged);
  const what = isMark ? 'Mark as deleted' : 'Delete permanently';
  const answer = await world.ask(
    `${what}: job ${printable(jobId)} ${found ? factsOf(found) : 'that is damaged'}? [y/N] `,
  );
  if (answer === undefined)
    throw new SynclineError(
      'invalid-argument',
      `cannot ask for confirmation for job ${jobId}: stdin is not a terminal. Use --yes.`,
    );
  if (/^\s*y(es)?\s*$/i.test(answer)) return;
  throw new SynclineError('aborted', `job ${jobId} was not changed.`);
}

function factsOf({ job, progress }: JobAnswer): string {
  const { running, total } = progress.cells;
  const runs = running === 0 ? '' : `, ${running} of ${total} cells are running`;
  return `with ${job.numTasks === 1 ? '1 task' : `${job.numTasks} tasks`}${runs}`;
}

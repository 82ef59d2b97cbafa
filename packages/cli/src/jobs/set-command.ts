// `syncline jobs set`: writes one state, so that shell scripts can take part in a job.
import { type JobManager, JobStatus, type State } from '@syncline/jobs';
import { SynclineError } from '@syncline/kernel';
import type { Command } from 'commander';
import { type CliWorld, say } from '../cli-world.js';
import { addExamples } from '../examples.js';
import { printable, printableJson } from '../printable.js';
import { addServerOptions } from './job-target.js';
import { percentText } from './progress-table.js';
import { addReportOptions, NEWEST_CLAIM, openReporter, type ReportOptions } from './report-task.js';

/** The lowest status of a running task that is not "started". */
const RUNNING = 2;

interface SetOptions extends ReportOptions {
  readonly started?: true;
  readonly finished?: true;
  readonly error?: string;
  readonly warning?: string;
  readonly status?: string;
  readonly message?: string;
  readonly progress?: string;
}

export function addSetCommand(jobs: Command, world: CliWorld): void {
  const command = jobs.command('set <job>').description('Write the state of one task');
  addExamples(command, [
    [
      'syncline jobs set nightly-42 --tasks 1 --task 0 --tag ingest --started',
      'create the job and start',
    ],
    ['syncline jobs set nightly-42 --task 0 --tag ingest --progress 0.4', 'report progress'],
    ['syncline jobs set nightly-42 --task 0 --tag ingest --error "disk full"', 'report a failure'],
    ['syncline jobs set nightly-42 --task 0 --tag ingest --finished', 'report completion'],
  ]);
  addReportOptions(command)
    .option('--started', 'Set the status to started')
    .option('--finished', 'Set the status to finished')
    .option('--error <text>', 'Set the status to failed, with this text')
    .option('--warning <text>', 'Set the status to warning, with this text')
    .option(
      '--status <number>',
      'Custom status: 2 to 2147483646 is running, -3 and below is failed',
    )
    .option('--message <text>', 'Human-readable message')
    .option('--progress <share>', 'Progress from 0 to 1; implies running if given alone');
  addServerOptions(command, 'Print the state as JSON')
    .addHelpText('after', NEWEST_CLAIM)
    .action((jobId: string, options: SetOptions) => set(world, jobId, options));
}

async function set(world: CliWorld, jobId: string, options: SetOptions): Promise<void> {
  const write = writeOf(options);
  await using job = await openReporter(world, jobId, options);
  const { state } = await write(job);
  if (options.json) world.stdout.write(`${printableJson(state, 0)}\n`);
  else say(world, confirmation(state));
}

/** `nightly, task 0, ingest: running, 40%` */
function confirmation({ jobId, taskId, tag, statusClass, progress }: State): string {
  const share = progress === undefined ? '' : `, ${percentText(progress)}`;
  return `${printable(jobId)}, task ${taskId}, ${printable(tag)}: ${printable(statusClass)}${share}`;
}

type Write = (job: JobManager) => ReturnType<JobManager['setFinished']>;

/** Throws before anything is sent to the server. */
function writeOf(options: SetOptions): Write {
  const { started, finished, error, warning, status, message, tag } = options;
  const kinds = [started, finished, error, warning, status].filter((one) => one !== undefined);
  const progress = progressOf(options.progress);
  if (kinds.length > 1 || (kinds.length === 0 && progress === undefined))
    throw invalid(
      'pass exactly one of --started, --finished, --error, --warning and --status, or only --progress.',
    );
  const given = {
    tag,
    ...(message !== undefined && { message }),
    ...(progress !== undefined && { progress }),
  };
  if (error !== undefined || warning !== undefined) {
    if (message !== undefined)
      throw invalid('--error and --warning already set the message; remove --message.');
    if (error !== undefined) return (job) => job.setError(error, given);
    return (job) => job.setWarning(warning ?? '', given);
  }
  if (finished && progress !== undefined && progress < 1)
    throw invalid(`--finished implies progress 1; remove --progress ${options.progress}.`);
  if (started) return (job) => job.setStarted(given);
  if (finished) return (job) => job.setFinished(given);
  const write = { ...given, status: status === undefined ? RUNNING : statusOf(status) };
  return (job) => job.setState(write);
}

function statusOf(text: string): number {
  const status = /^-?\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  const isRunning = status >= RUNNING && status < JobStatus.finished;
  if (isRunning || (status >= -(2 ** 31) && status < JobStatus.warning)) return status;
  throw invalid(
    `--status is ${quoted(text)}; expected 2 to 2147483646 (running) or -3 and below (failed). For other states, use --started, --finished, --error or --warning.`,
  );
}

function progressOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const share = /^(0(\.\d+)?|1(\.0+)?)$/.test(text) ? Number(text) : Number.NaN;
  if (share >= 0) return share;
  throw invalid(`--progress is ${quoted(text)}; expected a number from 0 to 1, like 0.4.`);
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}

function invalid(message: string): SynclineError {
  return new SynclineError('invalid-argument', message);
}

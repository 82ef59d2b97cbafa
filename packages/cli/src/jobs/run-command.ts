// `syncline jobs run JOB … -- command`: reports a command as a task of a job, from its start to its exit code.
//
// The command inherits the terminal and receives our signals. Its lease is renewed while it runs, so that a machine
// that dies shows as a lost task. We exit with the command's exit code, so a cron job or pipeline sees no difference.
import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { SynclineError } from '@syncline/kernel';
import type { Command } from 'commander';
import { type CliWorld, say } from '../cli-world.js';
import { CommandExit } from '../command-exit.js';
import { addExamples } from '../examples.js';
import { printable } from '../printable.js';
import { addServerOptions } from './job-target.js';
import { addReportOptions, NEWEST_CLAIM, openReporter, type ReportOptions } from './report-task.js';

const NOT_FOUND = 127;
const NOT_RUNNABLE = 126;
const KILLED = 128;
const SHOWN_MAX = 100;
/** A server that is reachable answers sooner. */
const STOP_MS = 1_000;

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or command',
  EACCES: 'permission denied',
  ENAMETOOLONG: 'the name is too long',
  E2BIG: 'the arguments are too long',
  ERR_INVALID_ARG_VALUE: 'the name of a command must not be empty',
};

interface Ended {
  readonly code: number;
  /** Why it counts as failed. */
  readonly failure: string | undefined;
}

export function addRunCommand(jobs: Command, world: CliWorld): void {
  const command = jobs
    .command('run <job> <command...>')
    .description('Run a command and report it as a task');
  addExamples(command, [
    [
      'syncline jobs run nightly-42 --tasks 1 --task 0 --tag load -- ./load.sh',
      'for example in a crontab',
    ],
    ['syncline jobs run backup --task 2 --tag copy -- rsync -a src dst', 'one of several tasks'],
  ]);
  addReportOptions(command);
  addServerOptions(
    command,
    'Accepted for consistency; has no effect, since the output is that of the command',
  );
  command
    .addHelpText(
      'after',
      `\nThe exit code is that of the command, or 128 plus the signal number.${NEWEST_CLAIM}`,
    )
    .action((jobId: string, line: readonly string[], options: ReportOptions) =>
      run(world, { jobId, line, options }),
    );
}

async function run(
  world: CliWorld,
  {
    jobId,
    line,
    options,
  }: { readonly jobId: string; readonly line: readonly string[]; readonly options: ReportOptions },
): Promise<void> {
  const { tag } = options;
  let loss: string | undefined;
  let isRunning = false;
  const job = await openReporter(world, jobId, options, (error) => {
    const isKnown = loss !== undefined;
    loss ??= lossText(error, options);
    const effect = 'The command keeps running, but is no longer reported.';
    if (isRunning && !isKnown) say(world, `syncline: ${printable(loss)}. ${effect}`);
  });
  await job.setStarted({ tag });
  isRunning = true;
  const { code, failure } = await execute(world, line);
  isRunning = false;
  const report = async () => {
    await (failure === undefined ? job.setFinished({ tag }) : job.setError(failure, { tag }));
    await job.close();
  };
  try {
    await Promise.race([report(), rejectWhenStopped(world)]);
  } catch (thrown) {
    const reason = loss === undefined ? SynclineError.from(thrown).message : `${loss}.`;
    const what = `could not report the end of the task to job ${jobId}`;
    // The exit code stays: the command has done its work.
    say(world, `syncline: ${printable(`${what}: ${reason}`)}`);
  }
  if (code !== 0) throw new CommandExit(code);
}

/** Without the advice of the server, which is to stop this process. */
function lossText({ details, message }: SynclineError, { task }: ReportOptions): string {
  if (details['reason'] === 'epoch') return `another process has claimed task ${task}`;
  return message.replace(/\.\s.*$/s, '');
}

function execute(world: CliWorld, [command = '', ...args]: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const unstarted = (error: NodeJS.ErrnoException) => {
      const code = error.code === 'ENOENT' ? NOT_FOUND : NOT_RUNNABLE;
      const reason = REASONS[error.code ?? ''] ?? error.message;
      const failure = `${command.slice(0, SHOWN_MAX) || '""'} could not be started: ${reason}`;
      say(world, `syncline: ${printable(failure)}`);
      resolve({ code, failure });
    };
    const child = spawnOr(unstarted, command, args);
    if (child === undefined) return;
    world.onStopEvent((event) => {
      // A terminal sends Ctrl-C to the command as well.
      const hasHeard = event === 'SIGINT' && world.stderr.isTTY === true;
      if (!hasHeard) child.kill(event === 'disconnect' ? 'SIGTERM' : event);
    });
    child.once('error', unstarted);
    child.once('exit', (code, signal) => {
      if (signal !== null)
        resolve({ code: KILLED + constants.signals[signal], failure: `ended by ${signal}` });
      else if (code === 0) resolve({ code, failure: undefined });
      else resolve({ code: code ?? 1, failure: `exit code ${code}` });
    });
  });
}

/** Node throws some errors, such as those of a name or list of arguments that is too long, and emits others. */
function spawnOr(
  onError: (error: NodeJS.ErrnoException) => void,
  command: string,
  args: readonly string[],
): ChildProcess | undefined {
  try {
    return spawn(command, args, { stdio: 'inherit' });
  } catch (thrown) {
    onError(thrown as NodeJS.ErrnoException);
    return undefined;
  }
}

/** The command has ended, so a signal is meant for us: reports to a server that is down are retried for a minute. */
function rejectWhenStopped(world: CliWorld): Promise<never> {
  return new Promise((_, reject) => {
    const stopped = new SynclineError('aborted', 'interrupted before the server answered');
    world.onStopEvent(() => void setTimeout(reject, STOP_MS, stopped));
  });
}

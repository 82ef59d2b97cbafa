// `syncline jobs watch`: its flags and its help.
import { createSystemClock, createSystemRandom } from '@syncline/kernel';
import type { Command } from 'commander';
import type { CliWorld } from '../cli-world.js';
import { addExamples } from '../examples.js';
import { statusTarget } from '../status/status-target.js';
import {
  addScopeOptions,
  addServerOptions,
  type JobCommandOptions,
  type ScopeOptions,
  scopeOf,
} from './job-target.js';
import { watchJob } from './watch-job.js';

interface WatchOptions extends JobCommandOptions, ScopeOptions {
  readonly after?: string;
  readonly untilFinished?: true;
}

const MEANING = `
In a bar, █ is progress: the finished cells, plus the reported share of each
unfinished one. The rest of the bar is ▓ running, ▒ warned, ▚ failed and
░ not started.

With --until-finished, the exit code is 0 when every cell is finished, 1 when no
cell is running or waiting to start but some are failed or warned, and 4 when
the job is deleted, or marked as deleted before it finished. A lost task does
not end the command, since it may come back: to limit the wait, use
"timeout 2h syncline jobs watch …". After a lost connection, the command resumes
after the last event.`;

export function addWatchCommand(jobs: Command, world: CliWorld): void {
  const command = jobs.command('watch <job>').description('Follow a job as it changes');
  addExamples(command, [
    ['syncline jobs watch nightly-42', 'a live table'],
    ['syncline jobs watch nightly-42 --tag ingest', 'one tag only'],
    ['syncline jobs watch nightly-42 --until-finished', 'exit when the job ends'],
    ['syncline jobs watch nightly-42 | jq .kind', 'one JSON event per line'],
  ]);
  addScopeOptions(command)
    .option('--after <cursor>', 'Only events after the one with this cursor')
    .option('--until-finished', 'Exit when the job ends; see below for exit codes');
  addServerOptions(command, 'Print one JSON event per line, even on a terminal')
    .addHelpText('after', MEANING)
    .action((jobId: string, options: WatchOptions) => {
      const { after } = options;
      return watchJob(
        {
          world,
          clock: createSystemClock(),
          random: createSystemRandom(),
          target: statusTarget(options, world.environment),
        },
        {
          jobId,
          scope: scopeOf(options),
          ...(after === undefined ? {} : { after }),
          isUntilFinished: options.untilFinished === true,
          isTable: world.stdout.isTTY === true && options.json === undefined,
        },
      );
    });
}

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
With --until-finished the exit code is 0 when every cell is finished, 1 when
nothing runs or is still to start but not all is finished, and 4 when the job
is deleted, or marked before it was finished. A lost task does not end it, since
it may come back: bound it with "timeout 2h syncline jobs watch …".
A connection that is lost is opened again behind the last event.`;

export function addWatchCommand(jobs: Command, world: CliWorld): void {
  const command = jobs.command('watch <job>').description('Follow a job as it changes');
  addExamples(command, [
    ['syncline jobs watch nightly-42', 'a live table'],
    ['syncline jobs watch nightly-42 --tag ingest', 'one tag of it'],
    ['syncline jobs watch nightly-42 --until-finished', 'wait for its end'],
    ['syncline jobs watch nightly-42 | jq .kind', 'one JSON event per line'],
  ]);
  addScopeOptions(command)
    .option('--after <cursor>', 'Only events after the one with this cursor')
    .option('--until-finished', 'End with the job; the exit code tells how');
  addServerOptions(command, 'Print one JSON event per line, on a terminal too')
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

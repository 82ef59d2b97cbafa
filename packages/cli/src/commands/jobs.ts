// `syncline jobs …`: the commands for jobs.
import type { Command } from 'commander';
import type { CliWorld } from '../cli-world.js';
import { addLsCommand } from '../jobs/ls-command.js';
import { addRmCommand } from '../jobs/rm-command.js';
import { addRunCommand } from '../jobs/run-command.js';
import { addSetCommand } from '../jobs/set-command.js';
import { addShowCommand } from '../jobs/show-command.js';
import { addWatchCommand } from '../jobs/watch-command.js';

export function fillJobsCommand(jobs: Command, world: CliWorld): void {
  addLsCommand(jobs, world);
  addShowCommand(jobs, world);
  addWatchCommand(jobs, world);
  addSetCommand(jobs, world);
  addRunCommand(jobs, world);
  addRmCommand(jobs, world);
}

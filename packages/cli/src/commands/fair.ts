// `syncline fair …`: the commands for fair throttling.
import type { Command } from 'commander';
import type { CliWorld } from '../cli-world.js';
import { addEvalCommand } from '../fair/eval-command.js';
import { addTopCommand } from '../fair/top-command.js';

export function fillFairCommand(fair: Command, world: CliWorld): void {
  addEvalCommand(fair, world);
  addTopCommand(fair, world);
}

// `syncline status`: asks a running server what it is and how it is.
import type { Command } from 'commander';
import type { CliWorld } from '../cli-world.js';
import { addExamples } from '../examples.js';
import { paintFor } from '../paint.js';
import { fetchStatus } from '../status/fetch-status.js';
import { renderStatus } from '../status/render-status.js';
import { type StatusTargetOptions, statusTarget } from '../status/status-target.js';

interface StatusOptions extends StatusTargetOptions {
  readonly json?: true;
}

export function addStatusCommand(program: Command, world: CliWorld): void {
  const command = program.command('status').description('Show what a server is and how it is');
  addExamples(command, [
    ['syncline status', 'the server on this machine'],
    ['syncline status --url https://node-2:7400 --ca-file ca.pem', 'another one, over TLS'],
    ['syncline status --json', 'for a program'],
  ]);
  command
    .option('--url <url>', 'Where the server is (or SYNCLINE_URL; http://127.0.0.1:7400)')
    .option('--ca-file <file>', 'PEM file with the authority of its certificate')
    .option('--config <file>', "The server's TOML file: gives address, token and certificates")
    .option('--json', 'Print JSON')
    .action((options: StatusOptions) => status(world, options));
}

async function status(world: CliWorld, options: StatusOptions): Promise<void> {
  const { stdout, environment } = world;
  const answer = await fetchStatus(statusTarget(options, environment));
  if (options.json) stdout.write(`${JSON.stringify(answer, null, 2)}\n`);
  else stdout.write(renderStatus(answer, paintFor(stdout, environment)));
}

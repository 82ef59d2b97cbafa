// `syncline status`: shows the identity and health of a running server.
import { SynclineError } from '@syncline/kernel';
import type { ServerStatus } from '@syncline/server';
import type { Command } from 'commander';
import type { CliWorld } from '../cli-world.js';
import { addExamples } from '../examples.js';
import { paintFor } from '../paint.js';
import { printableJson } from '../printable.js';
import { fetchStatus } from '../status/fetch-status.js';
import { renderStatus } from '../status/render-status.js';
import {
  addTargetOptions,
  type StatusTargetOptions,
  statusTarget,
} from '../status/status-target.js';

interface StatusOptions extends StatusTargetOptions {
  readonly json?: true;
}

export function fillStatusCommand(command: Command, world: CliWorld): void {
  addExamples(command, [
    ['syncline status', 'the local server'],
    ['syncline status --url https://n2:7400 --ca-file ca.pem', 'a remote server'],
    ['syncline status --json', 'for scripts'],
  ]);
  addTargetOptions(command)
    .option('--json', 'Print JSON')
    .action((options: StatusOptions) => status(world, options));
}

async function status(world: CliWorld, options: StatusOptions): Promise<void> {
  const { stdout, environment } = world;
  const target = statusTarget(options, environment);
  const answer = await fetchStatus(target);
  if (options.json) stdout.write(`${printableJson(answer)}\n`);
  else stdout.write(renderStatus(answer, paintFor(stdout, environment)));
  if (!answer.isReady)
    throw new SynclineError('unavailable', `${target.shownUrl} is not ready: ${reasons(answer)}.`);
}

/** The failed checks, with reasons. */
function reasons({ checks }: ServerStatus): string {
  const failing = checks.filter(({ ok }) => !ok);
  return failing.map(({ name, reason = 'failed' }) => `${name} (${reason})`).join(', ');
}

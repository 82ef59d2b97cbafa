// The real world around the command line: the process, its streams and its signals.
import type { CliWorld } from './cli-world.js';
import { runCli } from './run-cli.js';

/** What is left open after a command has ended may not hold the process longer than this. */
const LINGER_MS = 500;

export async function main(host: NodeJS.Process): Promise<void> {
  for (const stream of [host.stdout, host.stderr]) stream.on('error', ignoreBrokenPipe);
  const world: CliWorld = {
    stdout: host.stdout,
    stderr: host.stderr,
    environment: host.env,
    onStopEvent(listener) {
      for (const event of ['SIGINT', 'SIGTERM', 'disconnect'] as const)
        host.on(event, () => listener(event));
    },
    reportStarted: () => void host.send?.('started'),
    exitNow: (code) => host.exit(code),
  };
  host.exitCode = await runCli(world, host.argv.slice(2));
  if (host.connected) host.disconnect();
  setTimeout(() => host.exit(), LINGER_MS).unref();
}

/** The reader of our output has gone, as after `| head`. A server goes on without it. */
function ignoreBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}

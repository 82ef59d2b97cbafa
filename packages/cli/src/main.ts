// The real world around the command line: the process, its streams and its signals.
import { createInterface } from 'node:readline';
import type { CliWorld, OutputStream } from './cli-world.js';
import { runCli } from './run-cli.js';

/** What is left open after a command has ended may not hold the process longer than this. */
const LINGER_MS = 500;

const PARENT_POLL_MS = 500;

export async function main(host: NodeJS.Process): Promise<void> {
  const { ppid: parentId } = host; // before anything else is loaded, which takes a while
  host.stderr.on('error', ignoreFailedLog);
  const world: CliWorld = {
    stdout: outputOf(host.stdout),
    stderr: host.stderr,
    environment: host.env,
    onStopEvent(listener) {
      for (const event of ['SIGINT', 'SIGTERM', 'disconnect'] as const)
        host.on(event, () => listener(event));
      if (host.env['npm_execpath'] !== undefined)
        whenParentChanges(host, parentId, () => listener('disconnect'));
    },
    onSuspend: (leave, back) => sleepBetween(host, leave, back),
    ask: (question) => askOn(host, question),
    reportStarted: () => void host.send?.('started'),
    makeNewFilesPrivate: () => void host.umask(0o077),
    exitNow: (code) => host.exit(code),
  };
  host.exitCode = await runCli(world, host.argv.slice(2));
  if (host.connected) host.disconnect();
  setTimeout(() => host.exit(), LINGER_MS).unref();
}

function sleepBetween(host: NodeJS.Process, leave: () => void, back: () => void): void {
  host.on('SIGTSTP', () => {
    leave();
    host.once('SIGCONT', back);
    host.kill(host.pid, 'SIGSTOP'); // nobody can listen to this one
  });
}

function askOn({ stdin, stderr }: NodeJS.Process, question: string): Promise<string | undefined> {
  if (!stdin.isTTY) return Promise.resolve(undefined);
  const lines = createInterface({ input: stdin });
  stderr.write(question);
  return new Promise<string>((resolve) => {
    lines.once('line', resolve);
    lines.once('close', () => resolve('')); // Ctrl-D
  }).finally(() => lines.close());
}

/**
 * Between npm or npx and us stands a shell that dies of a signal and does not pass it on. Without this
 * `kill` of npm would leave a server that nobody sees.
 */
function whenParentChanges(host: NodeJS.Process, parentId: number, listener: () => void): void {
  const timer = setInterval(() => {
    if (host.ppid === parentId) return;
    clearInterval(timer);
    listener();
  }, PARENT_POLL_MS);
  timer.unref();
}

/** Its reader may go. A server goes on without it; other commands ask, since Node forgets the error at once. */
function outputOf(stream: NodeJS.WriteStream): OutputStream {
  let isUnread = false;
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    isUnread = true;
  });
  return {
    write: (text) => stream.write(text),
    isTTY: stream.isTTY,
    get columns() {
      return stream.columns;
    },
    get rows() {
      return stream.rows;
    },
    get isUnread() {
      return isUnread;
    },
  };
}

/** A log on a full disk or on a lost terminal: there is nowhere to tell it, and a server serves without. */
function ignoreFailedLog(): void {}

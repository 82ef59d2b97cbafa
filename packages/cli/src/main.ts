// Runs the command line with the real process, its streams and its signals.
import { createInterface } from 'node:readline';
import { setFlagsFromString } from 'node:v8';
import type { CliWorld, OutputStream } from './cli-world.js';
import { runCli } from './run-cli.js';

/** Open handles keep the process alive for at most this long after a command has ended. */
const LINGER_MS = 500;

const PARENT_POLL_MS = 500;

export async function main(host: NodeJS.Process): Promise<void> {
  const { ppid: parentId } = host; // read before the other modules are loaded, which takes a while
  // Few young objects survive, and one thread collects them in a millisecond. Waiting for helper threads that did
  // not get a CPU took up to 40 ms on a busy machine.
  setFlagsFromString('--no-parallel-scavenge');
  // A command passes through about twenty small functions. By default V8 inlines only some of them, and which ones
  // depends on chance: with this limit, a command of a pipeline takes 7% less processor time.
  setFlagsFromString('--max-inlined-bytecode-size-cumulative=2500');
  host.stderr.on('error', ignoreFailedLog);
  let isDataLost = false;
  const world: CliWorld = {
    stdout: outputOf(host.stdout, (reason) => {
      host.stderr.write(`syncline: cannot write to standard output: ${reason}\n`);
      isDataLost = true;
      if (host.exitCode === 0) host.exitCode = 1; // the command has already ended
    }),
    stderr: host.stderr,
    environment: host.env,
    onStopEvent(listener) {
      for (const event of ['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect'] as const)
        host.on(event, () => listener(event));
      if (host.env['npm_execpath'] !== undefined)
        whenParentChanges(host, parentId, () => listener('disconnect'));
    },
    onSuspend: (leave, back) => handleSuspend(host, leave, back),
    ask: (question) => askOn(host, question),
    reportStarted: () => void host.send?.('started'),
    makeNewFilesPrivate: () => void host.umask(0o077),
    exitNow: (code) => host.exit(code),
  };
  const code = await runCli(world, host.argv.slice(2));
  host.exitCode = code || Number(isDataLost);
  if (host.connected) host.disconnect();
  setTimeout(() => host.exit(), LINGER_MS).unref();
}

function handleSuspend(host: NodeJS.Process, leave: () => void, back: () => void): void {
  host.on('SIGTSTP', () => {
    leave();
    host.once('SIGCONT', back);
    host.kill(host.pid, 'SIGSTOP'); // this signal cannot be handled
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
 * npm and npx start this process through a shell that does not forward signals. Without this check, killing npm
 * would leave an orphaned server behind.
 */
function whenParentChanges(host: NodeJS.Process, parentId: number, listener: () => void): void {
  const timer = setInterval(() => {
    if (host.ppid === parentId) return;
    clearInterval(timer);
    listener();
  }, PARENT_POLL_MS);
  timer.unref();
}

/** If the reader closes the pipe or the disk is full, a server keeps running; other commands check `isUnread`. */
function outputOf(stream: NodeJS.WriteStream, onLost: (reason: string) => void): OutputStream {
  let isUnread = false;
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (!isUnread && error.code !== 'EPIPE') onLost(error.message);
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

/** A log line cannot be written (full disk, closed terminal). There is nowhere to report it; the server keeps running. */
function ignoreFailedLog(): void {}

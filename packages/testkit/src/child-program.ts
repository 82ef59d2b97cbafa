// Runs one of the bundled programs in children/ as a separate process, to be killed or queried.
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** Bundled by scripts/test/bundle-programs.mjs. From src/ and from dist/ alike. */
const CHILDREN = new URL('../../../.cache/programs/', import.meta.url);

export interface ChildProgram extends AsyncDisposable {
  readonly pid: number;
  /** The next line of its standard output; undefined when it has ended. */
  nextLine(): Promise<string | undefined>;
  /** Reads lines until one begins with `start`; throws if the process ends first. */
  lineThatStarts(start: string): Promise<string>;
  send(line: string): void;
  /** kill -9, and waits until it is gone. Lines written before can still be read. */
  kill(): Promise<void>;
  /** How it ended: its exit code, or the name of the signal. */
  readonly ended: Promise<number | string>;
}

export function startChild(name: string, ...args: readonly string[]): ChildProgram {
  const program = fileURLToPath(new URL(`${name}.js`, CHILDREN));
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = endOf(child);
  const nextLine = async () => (await lines.next()).value as string | undefined;
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  return {
    pid: child.pid ?? 0,
    nextLine,
    async lineThatStarts(start) {
      for (let line = await nextLine(); line !== undefined; line = await nextLine()) {
        if (line.startsWith(start)) return line;
      }
      throw new Error(`${name} ended (${await ended}) before it printed "${start}"`);
    },
    send: (line) => child.stdin.write(`${line}\n`),
    kill,
    ended,
    [Symbol.asyncDispose]: kill,
  };
}

function endOf(child: ChildProcess): Promise<number | string> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  });
}

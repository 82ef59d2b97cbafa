// The built command as a separate process, to be watched, signalled and awaited.
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** As users start it. */
export const COMMAND = fileURLToPath(new URL('../packages/cli/bin/syncline.js', import.meta.url));

/** The same command in a bundle, which starts in half the time (see scripts/test/bundle-programs.mjs). */
export const BUNDLE = fileURLToPath(new URL('../.cache/programs/syncline.js', import.meta.url));

/** Generous, because the machine may be busy; nothing waits this long unless it is broken. */
const DEADLINE_MS = 120_000;

export interface CliOptions {
  /** Default: the bundle. */
  readonly command?: string;
  readonly cwd?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Default false. In its own process group it can be signalled as by a terminal. */
  readonly isGroup?: boolean;
  /** Default false. With a shell in between, as npm does; `child` is then the shell. */
  readonly isInShell?: boolean;
  /** How many files it may open. Default: as many as this process. */
  readonly openFilesMax?: number;
  /** Default: a pipe that `stderr` shows. Otherwise an open file. */
  readonly stderrFile?: number;
  /** The same for `stdout`. */
  readonly stdoutFile?: number;
}

export interface CliEnd {
  /** Undefined when a signal ended it. */
  readonly code: number | undefined;
  readonly signal: string | undefined;
}

export interface ListeningLine {
  readonly node?: number;
  readonly listener: string;
  readonly host: string;
  readonly port: number;
}

export class CliProcess implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly #ended: Promise<CliEnd>;
  stdout = '';
  stderr = '';
  #end: CliEnd | undefined;
  #wake: () => void = () => {};

  constructor(
    args: readonly string[],
    {
      command: script = BUNDLE,
      cwd,
      environment = {},
      isGroup = false,
      isInShell = false,
      openFilesMax,
      stderrFile,
      stdoutFile,
    }: CliOptions = {},
  ) {
    // The developer's own settings must not leak in.
    const own = Object.entries(process.env).filter(([name]) => !name.startsWith('SYNCLINE_'));
    const limit = openFilesMax === undefined ? [] : ['prlimit', `--nofile=${openFilesMax}`];
    const command = [...limit, process.execPath, script, ...args];
    // The shell must have something left to do, otherwise it execs the command.
    const [program = '', ...rest] = isInShell
      ? ['sh', '-c', '"$@"; exit', 'sh', ...command]
      : command;
    this.child = spawn(program, rest, {
      cwd,
      env: { ...Object.fromEntries(own), ...environment },
      stdio: ['ignore', stdoutFile ?? 'pipe', stderrFile ?? 'pipe'],
      detached: isGroup,
    });
    for (const name of ['stdout', 'stderr'] as const) {
      this.child[name]?.setEncoding('utf8').on('data', (text: string) => {
        this[name] += text;
        this.#wake();
      });
    }
    this.#ended = new Promise((resolve) => {
      this.child.once('close', (code, signal) => {
        this.#end = { code: code ?? undefined, signal: signal ?? undefined };
        resolve(this.#end);
        this.#wake();
      });
    });
  }

  /** Waits until `find` returns something; fails if the process ends first, or at the deadline. */
  async until<T>(what: string, find: () => T | undefined): Promise<T> {
    const deadline = Date.now() + DEADLINE_MS;
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      if (this.#end !== undefined || Date.now() > deadline)
        throw new Error(`no ${what}; ${JSON.stringify(this.#end)}\n${this.stdout}\n${this.stderr}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        setTimeout(resolve, 100).unref(); // for what can only be polled
      });
    }
  }

  listeners(): readonly ListeningLine[] {
    const lines = this.stdout.split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as ListeningLine);
  }

  /** The URL of the HTTP listener, once it accepts. */
  async url(): Promise<string> {
    const { host, port } = await this.until('http listener', () =>
      this.listeners().find(({ listener }) => listener === 'http'),
    );
    return `http://${host}:${port}`;
  }

  /** Ctrl-C: every process of the group gets the signal. */
  pressControlC(): void {
    if (this.child.pid !== undefined) process.kill(-this.child.pid, 'SIGINT');
  }

  /** How it ended, within the deadline. */
  end(): Promise<CliEnd> {
    return this.until('end', () => this.#end);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill('SIGKILL');
    await this.#ended;
  }
}

/** Runs the command to its end. */
export async function runCli(
  args: readonly string[],
  options: CliOptions = {},
): Promise<CliEnd & { readonly stdout: string; readonly stderr: string }> {
  await using running = new CliProcess(args, options);
  const end = await running.end();
  return { ...end, stdout: running.stdout, stderr: running.stderr };
}

// A CliWorld for tests: captures output, and simulates a terminal.
import type { CliWorld, StopEvent } from '../cli-world.js';
import { runCli } from '../run-cli.js';

export interface TestWorldOptions {
  /** The size of the terminal. Without it, output goes to a pipe. */
  readonly screen?: { readonly columns: number; readonly rows: number };
  readonly environment?: Readonly<Record<string, string>>;
  /** What the user types at a prompt. Without it, stdin is not a terminal. */
  readonly typed?: string;
  readonly onStdout?: (all: string) => void;
}

export interface TestWorld {
  readonly world: CliWorld;
  stdout(): string;
  stderr(): string;
  send(event: StopEvent): void;
  run(...args: readonly string[]): Promise<number>;
}

export function createTestWorld(options: TestWorldOptions = {}): TestWorld {
  const { screen, environment = {}, typed } = options;
  let [stdout, stderr] = ['', ''];
  let listener: (event: StopEvent) => void = () => {};
  const world: CliWorld = {
    stdout: {
      ...screen,
      isTTY: screen !== undefined,
      write(text) {
        stdout += text;
        options.onStdout?.(stdout);
      },
    },
    stderr: { write: (text) => (stderr += text) },
    environment,
    onStopEvent: (given) => {
      listener = given;
    },
    onSuspend() {},
    async ask(question) {
      if (typed !== undefined) stderr += question;
      return typed;
    },
    reportStarted() {},
    makeNewFilesPrivate() {},
    exitNow() {
      throw new Error('nothing was forced');
    },
  };
  return {
    world,
    stdout: () => stdout,
    stderr: () => stderr,
    send: (event) => listener(event),
    run: (...args) => runCli(world, args),
  };
}

// A child process as tests see it.
import type { OutputTail } from './output-tail.js';

export interface ProcessOptions {
  /** Shown in errors. */
  readonly name: string;
  readonly command: string;
  readonly args?: readonly string[];
  /** Added to our own environment, from which SYNCLINE_* is left out. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Removed if this process dies before it could stop the child. */
  readonly directory?: string;
}

/** An exit code, or the signal that ended it. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface RunningProcess extends AsyncDisposable {
  readonly name: string;
  readonly pid: number;
  readonly stdout: OutputTail;
  readonly stderr: OutputTail;
  /** How it ended, once it has. */
  readonly exit: ProcessExit | undefined;
  readonly exited: Promise<ProcessExit>;
  /**
   * The result of `match` for the first line, of either stream, that it accepts; earlier lines count. Throws,
   * with the last output, if the child ends first or on timeout.
   */
  waitForLine<T>(match: (line: string) => T | undefined, timeoutMs: number): Promise<T>;
  /** Sends a signal and does not wait. */
  signal(signal: NodeJS.Signals): void;
  /** Sends a signal that ends it, to its whole process group, and waits until it is gone. */
  kill(signal?: NodeJS.Signals): Promise<ProcessExit>;
  /** Asks it to end (SIGTERM). If it has not after `graceMs`, kills it and throws. */
  stop(graceMs?: number): Promise<ProcessExit>;
  /** The last output of both streams, for error messages. */
  tail(): string;
}

export function describeExit({ code, signal }: ProcessExit): string {
  return signal ?? `exit code ${code}`;
}

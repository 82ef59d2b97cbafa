// Runs a program to its end, with its standard input and output.
import { spawn } from 'node:child_process';

const DEADLINE_MS = 120_000;

export interface ProgramEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ProgramOptions {
  readonly input?: string | Uint8Array;
  readonly environment?: Readonly<Record<string, string>>;
  /** Default 120 s. */
  readonly deadlineMs?: number;
}

/** Rejects when it does not exist. It is killed when it takes too long. */
export function runProgram(
  program: string,
  args: readonly string[],
  { input = '', environment = {}, deadlineMs = DEADLINE_MS }: ProgramOptions = {},
): Promise<ProgramEnd> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env: { ...process.env, ...environment },
      signal: AbortSignal.timeout(deadlineMs),
    });
    const said = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', (text: string) => {
        said[name] += text;
      });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...said }));
    child.stdin.on('error', () => undefined); // it may exit without having read everything
    child.stdin.end(input);
  });
}

// Starts one child process, keeps its last output, and cleans up after it.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setTimeout as afterMs } from 'node:timers/promises';
import { testkitLimits } from '../limits.js';
import { OutputTail } from './output-tail.js';
import { guardProcess, type ProcessGuard } from './process-guard.js';
import {
  describeExit,
  type ProcessExit,
  type ProcessOptions,
  type RunningProcess,
} from './running-process.js';

/** A process may be gone before its last output has been read; one that left children keeps it open. */
const OUTPUT_WAIT_MS = 5_000;
/** Longer than a server waits for its requests, and then some: the machine may be busy. */
const STOP_GRACE_MS = 60_000;
const UNREFERENCED = { ref: false } as const;

export async function startProcess(options: ProcessOptions): Promise<RunningProcess> {
  const inherited = Object.entries(process.env).filter(([key]) => !key.startsWith('SYNCLINE_'));
  const child = spawn(options.command, options.args ?? [], {
    cwd: options.cwd,
    env: { ...Object.fromEntries(inherited), NO_COLOR: '1', ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // a process group of its own, so that what it starts can be ended with it
  });
  await once(child, 'spawn'); // rejects when there is no such command
  return new StartedProcess(child, options);
}

class StartedProcess implements RunningProcess {
  readonly name: string;
  readonly pid: number;
  readonly stdout = new OutputTail(testkitLimits.outputTailBytesMax.value);
  readonly stderr = new OutputTail(testkitLimits.outputTailBytesMax.value);
  readonly exited: Promise<ProcessExit>;
  readonly #child: ChildProcess;
  #exit: ProcessExit | undefined;

  constructor(child: ChildProcess, { name, directory }: ProcessOptions) {
    this.name = name;
    this.pid = child.pid ?? 0;
    this.#child = child;
    this.exited = this.#awaitEnd(guardProcess(this.pid, directory));
  }

  get exit(): ProcessExit | undefined {
    return this.#exit;
  }

  async waitForLine<T>(match: (line: string) => T | undefined, timeoutMs: number): Promise<T> {
    for (const line of [...this.stdout.lines, ...this.stderr.lines]) {
      const found = match(line);
      if (found !== undefined) return found;
    }
    return await new Promise<T>((resolve, reject) => {
      const settle = (finish: () => void) => {
        clearTimeout(timer);
        for (const stop of stops) stop();
        finish();
      };
      const fail = (what: string) => settle(() => reject(this.#error(what)));
      const look = (line: string) => {
        const found = match(line);
        if (found !== undefined) settle(() => resolve(found));
      };
      const timer = setTimeout(
        () => fail(`did not print the expected line within ${timeoutMs} ms`),
        timeoutMs,
      );
      const stops = [this.stdout.onLine(look), this.stderr.onLine(look)];
      void this.exited.then((exit) =>
        fail(`ended (${describeExit(exit)}) before it printed the expected line`),
      );
    });
  }

  signal(signal: NodeJS.Signals): void {
    if (this.#isRunning()) process.kill(this.pid, signal);
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<ProcessExit> {
    if (this.#isRunning()) process.kill(-this.pid, signal); // once it is gone its pid may be reused
    return await this.exited;
  }

  async stop(graceMs = STOP_GRACE_MS): Promise<ProcessExit> {
    this.signal('SIGTERM');
    const exit = await Promise.race([this.exited, afterMs(graceMs, undefined, UNREFERENCED)]);
    if (exit) return exit;
    await this.kill();
    throw this.#error(`did not stop within ${graceMs} ms after SIGTERM`);
  }

  tail(): string {
    const section = (stream: string, { lines }: OutputTail) =>
      [`--- ${this.name}, ${stream}:`, ...lines].join('\n');
    return `${section('standard output', this.stdout)}\n${section('standard error', this.stderr)}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  async #awaitEnd(guard: ProcessGuard): Promise<ProcessExit> {
    const child = this.#child;
    const outputs = [follow(child.stdout, this.stdout), follow(child.stderr, this.stderr)];
    const exit = await new Promise<ProcessExit>((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    guard.release();
    await Promise.race([Promise.all(outputs), afterMs(OUTPUT_WAIT_MS, undefined, UNREFERENCED)]);
    this.#exit = exit;
    return exit;
  }

  #isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  #error(what: string): Error {
    return new Error(`${this.name} ${what}\n${this.tail()}`);
  }
}

async function follow(stream: Readable | null, tail: OutputTail): Promise<void> {
  for await (const chunk of stream ?? []) tail.push(chunk as Uint8Array);
  tail.end();
}

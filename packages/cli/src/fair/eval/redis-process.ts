// Runs a redis-server for the duration of an evaluation: on loopback, on a free port, without persistence.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { SynclineError } from '@syncline/kernel';
import { findFreePorts } from '@syncline/kernel/node';

export interface RedisProcess {
  readonly url: string;
  stop(): Promise<void>;
}

export interface RedisStart {
  /** Aborts the start and kills the process. */
  readonly signal?: AbortSignal;
  readonly program?: string;
  readonly timeoutMs?: number;
}

const READY = /Ready to accept connections/;
/** Normally it takes a few milliseconds. */
const START_TIMEOUT_MS = 10_000;

/** Rejects with `unavailable` if redis-server is missing or does not start, and with the signal's reason if aborted. */
export async function startRedisProcess(start: RedisStart = {}): Promise<RedisProcess> {
  const { signal, program = 'redis-server', timeoutMs = START_TIMEOUT_MS } = start;
  const [port = 0] = await findFreePorts(1);
  const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  // Detached, so that Ctrl-C only reaches the evaluation, which then stops Redis.
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'], detached: true });
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  const stop = async () => {
    process.off('exit', kill);
    if (child.pid === undefined || child.exitCode !== null) return;
    const gone = once(child, 'exit');
    kill(); // there is no data to save
    await gone;
  };
  try {
    const overdue = AbortSignal.timeout(timeoutMs);
    await untilReady(child, signal === undefined ? overdue : AbortSignal.any([signal, overdue]));
  } catch (error) {
    await stop();
    signal?.throwIfAborted();
    throw error;
  }
  return { url: `redis://127.0.0.1:${port}`, stop };
}

function untilReady(child: ChildProcess, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = '';
    const refuse = (reason: string, cause?: unknown) => reject(cannotStart(reason, cause));
    child.stdout?.on('data', (chunk: Buffer) => {
      if (said.length < 10_000) said += chunk.toString();
      if (READY.test(said)) resolve();
    });
    child.once('error', (cause) => refuse(cause.message, cause));
    child.once('exit', () => refuse(said.trim().split('\n').at(-1) ?? ''));
    signal.addEventListener('abort', () => refuse('it was not ready in time'), { once: true });
    if (signal.aborted) refuse('it was not ready in time');
  });
}

function cannotStart(reason: string, cause: unknown): SynclineError {
  const text = `cannot start redis-server (${reason}). Install Redis 6.2 or newer, or pass --redis-url.`;
  return new SynclineError('unavailable', text, { cause });
}

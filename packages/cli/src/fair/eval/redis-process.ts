// A redis-server for the length of one evaluation: on loopback, on a free port, with nothing on disk.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { SynclineError } from '@syncline/kernel';

export interface RedisProcess {
  readonly url: string;
  stop(): Promise<void>;
}

const READY = /Ready to accept connections/;

/** Rejects with `unavailable` when there is no redis-server, or it does not start. */
export async function startRedisProcess(): Promise<RedisProcess> {
  const port = await freePort();
  const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  // Detached: a Ctrl-C is for the evaluation, which then stops it.
  const child = spawn('redis-server', args, {
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  });
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  await untilReady(child);
  return {
    url: `redis://127.0.0.1:${port}`,
    async stop() {
      process.off('exit', kill);
      if (child.exitCode !== null) return;
      const gone = once(child, 'exit');
      kill(); // it keeps nothing
      await gone;
    },
  };
}

function untilReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      if (said.length < 10_000) said += chunk.toString();
      if (READY.test(said)) resolve();
    });
    child.once('error', (cause) => reject(cannotStart(cause.message, cause)));
    child.once('exit', () => reject(cannotStart(said.trim().split('\n').at(-1) ?? '', undefined)));
  });
}

function cannotStart(reason: string, cause: unknown): SynclineError {
  const text = `cannot start redis-server (${reason}). Install Redis 6.2 or newer, or pass --redis-url.`;
  return new SynclineError('unavailable', text, { cause });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}

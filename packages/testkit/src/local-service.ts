// A real server for one test: on loopback, in its own directory. It can be frozen, killed and restarted on the
// same port.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { basename } from 'node:path';
import { findFreePorts } from '@syncline/kernel/node';
import { makeTempDirectory } from './temp-directory.js';

const START_TIMEOUT_MS = 30_000;
const POLL_MS = 5;

export interface LocalService extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** Keeps its connections but sends no replies (SIGSTOP). */
  freeze(): void;
  thaw(): void;
  /** kill -9, and waits until it is gone. */
  kill(): Promise<void>;
  /** Starts it again on the same port, in the same directory. */
  start(): Promise<void>;
}

export interface ServiceDescription {
  readonly command: string;
  /** The user that runs it, if it refuses to run as root. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  /** Before the first start. */
  prepare?(directory: string): Promise<void>;
  args(port: number, directory: string): readonly string[];
  /** What to send to a new connection, and the reply of a server that is ready. */
  readonly greeting: string;
  readonly ready: RegExp;
}

export async function startService(service: ServiceDescription): Promise<LocalService> {
  const { command, args, greeting, ready } = service;
  const directory = await makeTempDirectory(basename(command));
  await service.prepare?.(directory.path);
  const [port = 0] = await findFreePorts(1);
  let child: ChildProcess | undefined;
  const kill = async () => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    const helpers = await childrenOf(child.pid ?? 0);
    child.kill('SIGKILL');
    await gone;
    for (const pid of helpers) await killHelper(pid);
  };
  const start = async () => {
    await kill();
    const options = { cwd: directory.path, stdio: 'ignore', ...service.user } as const;
    child = spawn(command, [...args(port, directory.path)], options);
    await once(child, 'spawn'); // rejects if it is not installed
    await untilReady(command, child, () => answers(port, greeting, ready));
  };
  await start();
  return {
    port,
    url: `${basename(command).split('-')[0]}://127.0.0.1:${port}`,
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
    kill,
    start,
    async [Symbol.asyncDispose]() {
      await kill();
      await directory[Symbol.asyncDispose]();
    },
  };
}

/** A killed server cannot end its own processes, and a new one will not start beside them. */
async function childrenOf(parent: number): Promise<readonly number[]> {
  const pids = (await readdir('/proc').catch(() => [])).map(Number).filter(Number.isInteger);
  const found: number[] = [];
  for (const pid of pids) {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    if (new RegExp(`^PPid:\\s*${parent}$`, 'm').test(status)) found.push(pid);
  }
  return found;
}

async function killHelper(pid: number): Promise<void> {
  try {
    for (;;) {
      process.kill(pid, 'SIGKILL');
      if (/^State:\s*Z/m.test(await readFile(`/proc/${pid}/status`, 'utf8'))) return;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  } catch {
    return; // it is gone
  }
}

async function untilReady(
  command: string,
  child: ChildProcess,
  isReady: () => Promise<boolean>,
): Promise<void> {
  const deadlineMs = Date.now() + START_TIMEOUT_MS;
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}`);
    if (Date.now() > deadlineMs)
      throw new Error(`${command} is not ready after ${START_TIMEOUT_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

function answers(port: number, greeting: string, ready: RegExp): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(greeting));
    const end = (isUp: boolean) => {
      socket.destroy();
      resolve(isUp);
    };
    socket.once('data', (bytes) => end(ready.test(bytes.toString())));
    socket.once('error', () => end(false));
  });
}

export type RedisServer = LocalService;

/** Nothing is kept on disk. `options` are further ones of redis-server, as in `['--maxmemory', '10mb']`. */
export async function startRedis(...options: readonly string[]): Promise<LocalService> {
  const volatile = ['--save', '', '--appendonly', 'no'];
  return await startService({
    command: 'redis-server',
    args: (port) => ['--port', String(port), '--bind', '127.0.0.1', ...volatile, ...options],
    greeting: 'PING\r\n',
    ready: /^(\+PONG|-NOAUTH)/,
  });
}

/** With JetStream, which keeps its streams on disk. `options` are further ones of nats-server. */
export async function startNats(...options: readonly string[]): Promise<LocalService> {
  return await startService({
    command: 'nats-server',
    args: (port, directory) => [
      ...['-a', '127.0.0.1', '-p', String(port)],
      ...['-js', '-sd', directory, ...options],
    ],
    greeting: '',
    ready: /^INFO /,
  });
}

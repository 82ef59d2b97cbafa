// A real server of one test's own: on loopback, in its own directory. It can be frozen, killed and started
// again on the same port, as an operator or the world would do it.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { makeTempDirectory } from './temp-directory.js';

const START_TIMEOUT_MS = 10_000;
const POLL_MS = 5;

export interface LocalService extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** Keeps its connections and answers nothing (SIGSTOP). */
  freeze(): void;
  thaw(): void;
  /** kill -9, and waits until it is gone. */
  kill(): Promise<void>;
  /** Starts it again on the same port, in the same directory. */
  start(): Promise<void>;
}

export interface ServiceDescription {
  readonly command: string;
  args(port: number, directory: string): readonly string[];
  /** What to send to a new connection, and the reply of a server that is ready. */
  readonly greeting: string;
  readonly ready: RegExp;
}

export async function startService(service: ServiceDescription): Promise<LocalService> {
  const { command, args, greeting, ready } = service;
  const directory = await makeTempDirectory(command);
  const port = await freePort();
  let child: ChildProcess | undefined;
  const kill = async () => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  const start = async () => {
    await kill();
    const options = { cwd: directory.path, stdio: 'ignore' } as const;
    child = spawn(command, [...args(port, directory.path)], options);
    await untilReady(command, child, () => answers(port, greeting, ready));
  };
  await start();
  return {
    port,
    url: `${command.split('-')[0]}://127.0.0.1:${port}`,
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

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return address.port;
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

// A real redis-server of one test's own: on loopback, in its own directory, nothing kept on disk. It can be
// frozen, killed and started again on the same port, as an operator or the world would do it.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { makeTempDirectory } from './temp-directory.js';

const START_TIMEOUT_MS = 10_000;
const POLL_MS = 5;

export interface RedisServer extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** It keeps its connections and answers nobody (SIGSTOP). */
  freeze(): void;
  thaw(): void;
  /** kill -9, and waits until it is gone. All that it held is lost. */
  kill(): Promise<void>;
  /** Starts it again, empty, on the same port. */
  start(): Promise<void>;
}

/** `args` are further options of redis-server, as in `['--maxmemory', '10mb']`. */
export async function startRedis(...args: readonly string[]): Promise<RedisServer> {
  const directory = await makeTempDirectory('redis');
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
    child = spawn(
      'redis-server',
      ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', ...args],
      { cwd: directory.path, stdio: 'ignore' },
    );
    await untilItListens(port, child);
  };
  await start();
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
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

async function untilItListens(port: number, child: ChildProcess): Promise<void> {
  const deadlineMs = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`redis-server ended with ${child.exitCode}`);
    if (await answers(port)) return;
    if (Date.now() > deadlineMs)
      throw new Error(`redis-server does not answer on port ${port} after ${START_TIMEOUT_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    const end = (isUp: boolean) => {
      socket.destroy();
      resolve(isUp);
    };
    socket.once('data', (bytes) => end(/^(\+PONG|-NOAUTH)/.test(bytes.toString())));
    socket.once('error', () => end(false));
  });
}

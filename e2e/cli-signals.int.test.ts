// How a server ends: by request, by force, or killed.
import { connect, type Socket } from 'node:net';
import { makeTempDirectory } from '@syncline/testkit';
import { expect, test } from 'vitest';
import { CliProcess } from './cli-process.js';

/** Long, so that a busy machine does not end the requests that a test still has to finish. */
const GRACE_MS = 60_000;
const SERVE = ['serve', '--http-port', '0', '--grpc-port', '0', '--resp-port', '0'];

interface OpenRequest {
  readonly socket: Socket;
  /** Sends the rest. Resolves with everything that came back until the server closed the connection. */
  finish(): Promise<string>;
}

/** A request with half of its body: the server is processing it, and must wait or abandon it. */
async function beginRequest(url: string): Promise<OpenRequest> {
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname).setEncoding('utf8');
  socket.on('error', () => {}); // it may be cut
  let received = '';
  socket.on('data', (text: string) => {
    received += text;
  });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const head = `POST /nowhere HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json`;
  const part = `${head}\r\nContent-Length: 2\r\n\r\n{`;
  await new Promise<void>((resolve) => socket.write(part, () => resolve()));
  const finish = async (): Promise<string> => {
    socket.write('}');
    await closed;
    return received;
  };
  return { socket, finish };
}

/** Waits until the server reports that it is stopping. */
async function stopBegins(url: string): Promise<void> {
  const deadlineMs = Date.now() + GRACE_MS;
  while (Date.now() < deadlineMs) {
    if ((await fetch(`${url}/readyz`)).status === 503) return;
  }
  throw new Error(`${url} is still ready`);
}

interface Load {
  readonly answered: number;
  /** Responses that began but did not end. */
  readonly cut: number;
}

/**
 * Sends requests without pause until the server accepts no more. A reset before an answer began is not counted: the
 * server may have closed the connection before it saw the request.
 */
async function loadUntilGone(url: string): Promise<Load> {
  let [answered, cut] = [0, 0];
  const client = async (): Promise<void> => {
    for (;;) {
      const response = await fetch(`${url}/metrics`).catch(() => undefined);
      if (response === undefined) return;
      await response.text().then(
        () => {
          answered += 1;
        },
        () => {
          cut += 1;
        },
      );
    }
  };
  await Promise.all(Array.from({ length: 8 }, client));
  return { answered, cut };
}

test('SIGTERM of a busy server: requests in flight are finished, exit 0, within the grace period', async () => {
  const environment = { SYNCLINE_SHUTDOWN_GRACE_MS: String(GRACE_MS) };
  await using server = new CliProcess([...SERVE, '--memory'], { environment });
  const url = await server.url();
  const open = await Promise.all(Array.from({ length: 4 }, () => beginRequest(url)));
  const load = loadUntilGone(url);
  const idle = await fetch(`${url}/healthz`); // and a connection that stays open without a request
  expect(idle.status).toBe(200); // so what was sent before has been read
  const startMs = Date.now();
  server.child.kill('SIGTERM');
  await stopBegins(url);
  for (const answer of await Promise.all(open.map(({ finish }) => finish()))) {
    expect(answer).toMatch(/^HTTP\/1\.1 404 .*\r\n\r\n\{.*\}$/s); // the complete response
  }
  expect(await server.end()).toEqual({ code: 0, signal: undefined });
  expect(Date.now() - startMs).toBeLessThan(GRACE_MS / 2);
  const { answered, cut } = await load;
  expect(answered).toBeGreaterThan(0);
  expect(cut).toBe(0);
});

test('a client that stalls its request is disconnected, and the exit is still in time', async () => {
  const environment = { SYNCLINE_SHUTDOWN_GRACE_MS: '1500' };
  await using server = new CliProcess([...SERVE, '--memory'], { environment });
  const url = await server.url();
  const { socket } = await beginRequest(url);
  expect((await fetch(`${url}/healthz`)).status).toBe(200); // so what was sent before has been read
  const startMs = Date.now();
  server.child.kill('SIGTERM');
  expect(await server.end()).toEqual({ code: 0, signal: undefined });
  const stopMs = Date.now() - startMs;
  expect(stopMs).toBeGreaterThan(500); // it was given time
  expect(stopMs).toBeLessThan(15_000); // without a limit the request could take twice as long
  socket.destroy();
});

test('a second signal stops it immediately, with a non-zero exit', async () => {
  const environment = { SYNCLINE_SHUTDOWN_GRACE_MS: String(GRACE_MS) };
  await using server = new CliProcess([...SERVE, '--memory'], { environment });
  const url = await server.url();
  const { socket } = await beginRequest(url); // what the stop waits for
  expect((await fetch(`${url}/healthz`)).status).toBe(200); // so what was sent before has been read
  const startMs = Date.now();
  server.child.kill('SIGTERM');
  await stopBegins(url);
  server.child.kill('SIGINT');
  expect(await server.end()).toEqual({ code: 1, signal: undefined });
  expect(server.stderr).toMatch(/^syncline: SIGINT again: stopped without waiting/m);
  expect(Date.now() - startMs).toBeLessThan(GRACE_MS / 2);
  socket.destroy();
});

test('under npm it stops when the intermediate shell has died of the signal', async () => {
  await using shell = new CliProcess([...SERVE, '--memory'], {
    environment: { npm_execpath: 'npm-cli.js' },
    isInShell: true,
  });
  await shell.url();
  shell.child.kill('SIGKILL'); // its streams stay open until the server has exited too
  expect(await shell.end()).toEqual({ code: undefined, signal: 'SIGKILL' });
  expect(shell.stderr).toContain('"reason":"disconnect"');
  expect(shell.stderr).toContain('server stopped');
});

test('kill -9, restart on the same data, and SIGINT', async () => {
  await using directory = await makeTempDirectory('signals');
  const options = { cwd: directory.path };
  {
    await using killed = new CliProcess(SERVE, options);
    await killed.url();
    killed.child.kill('SIGKILL');
    expect(await killed.end()).toEqual({ code: undefined, signal: 'SIGKILL' });
  }
  await using server = new CliProcess(SERVE, options);
  expect((await fetch(`${await server.url()}/readyz`)).status).toBe(200);
  server.child.kill('SIGINT');
  expect(await server.end()).toEqual({ code: 0, signal: undefined });
});

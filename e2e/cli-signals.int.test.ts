// How a server ends: asked, forced, or killed.
import { connect, type Socket } from 'node:net';
import { makeTempDirectory } from '@syncline/testkit';
import { expect, test } from 'vitest';
import { CliProcess } from './cli-process.js';

const SERVE = ['serve', '--http-port', '0'];

/** A request whose head never ends: the server must wait for it, or give it up. */
async function holdRequest(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {}); // it will be cut
  const head = `GET /healthz HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAccept: `;
  await new Promise<void>((resolve) => socket.write(head, () => resolve()));
  return socket;
}

interface Load {
  readonly answered: number;
  /** Answers that began and did not end. */
  readonly cut: number;
}

/** Asks without pause until the server takes no more. */
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

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s of a busy server: what began is finished, exit 0, within the grace time',
  async (signal) => {
    await using server = new CliProcess([...SERVE, '--memory']);
    const url = await server.url();
    const load = loadUntilGone(url);
    const idle = await fetch(`${url}/healthz`); // and a connection that stays open without a request
    expect(idle.status).toBe(200);
    const startMs = Date.now();
    server.child.kill(signal);
    expect(await server.end()).toEqual({ code: 0, signal: undefined });
    expect(Date.now() - startMs).toBeLessThan(10_000);
    const { answered, cut } = await load;
    expect(answered).toBeGreaterThan(0);
    expect(cut).toBe(0);
  },
);

test('a client that holds its request is cut, and the exit is in time all the same', async () => {
  const environment = { SYNCLINE_SHUTDOWN_GRACE_MS: '1500' };
  await using server = new CliProcess([...SERVE, '--memory'], { environment });
  const socket = await holdRequest(await server.url());
  const startMs = Date.now();
  server.child.kill('SIGTERM');
  expect(await server.end()).toEqual({ code: 0, signal: undefined });
  expect(Date.now() - startMs).toBeLessThan(1_500 + 1_500); // the rest is for a busy machine
  socket.destroy();
});

test('a second signal ends it at once, with a non-zero exit', async () => {
  await using server = new CliProcess([...SERVE, '--memory']);
  await server.url();
  // Both arrive while it is paused, so that the second comes before the stop can be over.
  for (const signal of ['SIGSTOP', 'SIGTERM', 'SIGINT', 'SIGCONT'] as const)
    server.child.kill(signal);
  expect(await server.end()).toEqual({ code: 1, signal: undefined });
  expect(server.stderr).toMatch(/^syncline: SIG(INT|TERM) again: ended without waiting/m);
});

test('kill -9 and restart on the same data', async () => {
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
  server.child.kill('SIGTERM');
  expect(await server.end()).toEqual({ code: 0, signal: undefined });
});

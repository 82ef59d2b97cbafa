// `fair top` against a fake server, and against one that does not respond.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import type { CliWorld, StopEvent } from '../cli-world.js';
import { runCli } from '../run-cli.js';

const facts = {
  streams: 1,
  streamsMax: 1_024,
  trackers: 0,
  isReachable: true,
  namespaces: [
    {
      tracker: 'default',
      epoch: 0,
      streams: 1,
      streamsBehind: 0,
      instances: 0,
      cells: 1,
      seeds: [{ seed: '42', cells: 1, idleMs: 10 }],
      highest: [{ seed: '42', row: 3, column: 4, probability: 0.5 }],
    },
  ],
  callers: [],
};

interface Asked {
  readonly body?: unknown;
  readonly code?: number;
  /** The port of the gRPC listener, if it is on. */
  readonly grpcPort?: number;
  readonly flags?: readonly string[];
  readonly isTerminal?: boolean;
  /** In the URL. Default 127.0.0.1. */
  readonly host?: string;
  /** Presses Ctrl-C after this many tables. */
  readonly stopAfter?: number;
}

function statusWith(grpcPort: number | undefined) {
  const grpc = { listener: 'grpc', host: '0.0.0.0', port: grpcPort };
  const about = { nodeId: 1, clusterId: 'c', version: '0.1.0', nodeVersion: 'v20.19.0' };
  return {
    ...{ ...about, uptimeMs: 1, isReady: true, checks: [], slices: [], peers: [] },
    ...{ listeners: grpcPort === undefined ? [] : [grpc], limitsReached: [] },
  };
}

async function ask({
  body = facts,
  code = 200,
  grpcPort,
  flags = [],
  isTerminal,
  host = '127.0.0.1',
  stopAfter,
}: Asked) {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url ?? '');
    const answer = request.url === '/api/status' ? statusWith(grpcPort) : body;
    response.writeHead(code).end(JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://${host}:${(server.address() as AddressInfo).port}`;
  let [stdout, stderr, writes] = ['', '', 0];
  let stop: (event: StopEvent) => void = () => {};
  const world: CliWorld = {
    stdout: {
      isTTY: isTerminal ?? false,
      columns: 60,
      rows: 5,
      write(text) {
        stdout += text;
        writes += 1;
        if (writes === stopAfter) stop('SIGINT');
      },
    },
    stderr: { write: (text) => (stderr += text) },
    environment: { NO_COLOR: '1' },
    onStopEvent: (listener) => {
      stop = listener;
    },
    onSuspend() {},
    ask: async () => undefined,
    reportStarted() {},
    makeNewFilesPrivate() {},
    exitNow: () => expect.unreachable(),
  };
  const exit = await runCli(world, ['fair', 'top', '--url', url, ...flags]);
  server.close();
  return { exit, url, stdout, stderr, paths };
}

test('without a terminal, the table is printed once, with the requested number of rows', async () => {
  const { exit, stdout, stderr, paths } = await ask({ flags: ['--tracker', 'a', '--limit', '5'] });
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
  expect(stdout).toMatch(/^fair {2}1 of 1024 connections\n/);
  expect(stdout).toContain('0.5000');
  expect(paths).toEqual(['/api/fair?limit=5&tracker=a']);
});

test('without trackers, the address to connect to is that of the gRPC listener', async () => {
  const body = { ...facts, namespaces: [] };
  for (const host of ['127.0.0.1', 'localhost']) {
    const { stdout } = await ask({ body, host, grpcPort: 8401 });
    expect(stdout).toContain(`grpcRemote({ address: '${host}:8401', tracker: 'api' })`);
  }
  expect((await ask({ body })).stdout).toContain('None can connect: grpc.enabled is false.');
});

test('with --json, one line is printed', async () => {
  const { stdout } = await ask({ flags: ['--json'] });
  expect(stdout.match(/\n/g)).toHaveLength(1);
  expect(JSON.parse(stdout)).toEqual(facts);
});

test('on a terminal, the table is redrawn every second until Ctrl-C', async () => {
  const { exit, stdout } = await ask({ isTerminal: true, stopAfter: 2 });
  expect(exit).toBe(0);
  const drawn = stdout.split('\u001b[H\u001b[2J');
  expect(drawn).toHaveLength(2);
  for (const text of drawn) {
    expect(text).toMatch(/^fair {2}1 of 1024 connections {2}Ctrl-C to quit\n/);
    expect(text).toMatch(/^(?:.{0,60}\n){1,4}$/);
  }
});

test('invalid flags, unexpected responses and an unreachable server have their own exit codes', async () => {
  expect((await ask({ flags: ['--limit', '0'] })).exit).toBe(2);
  expect((await ask({ body: { streams: 'many' } })).exit).toBe(3);
  const problem = { code: 'not-found', detail: 'no such tracker', outcome: 'not-applied' };
  expect((await ask({ code: 404, body: problem })).exit).toBe(4);
  const { url } = await ask({});
  const nobody = await ask({ flags: ['--url', url] });
  expect(nobody.exit).toBe(3);
  expect(nobody.stderr).toContain('(connection refused). No server seems to be running there.');
});

// A server that answers and is not ready: its status is shown, and the exit code tells a program.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ServerStatus } from '@syncline/server';
import { expect, test } from 'vitest';
import type { CliWorld } from '../cli-world.js';
import { runCli } from '../run-cli.js';

const status: ServerStatus = {
  nodeId: 1,
  clusterId: 'syncline',
  version: '0.1.0',
  nodeVersion: 'v20.19.0',
  startedAtMs: 0,
  uptimeMs: 1,
  isReady: false,
  checks: [{ name: 'slice:sets', ok: false, isFatal: false, reason: 'loading' }],
  listeners: [],
  dataDir: undefined,
  slices: [],
  limitsReached: [],
};

test('not ready: shown, and exit 3', async () => {
  const server = createServer((_, response) => response.end(JSON.stringify(status)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let [stdout, stderr] = ['', ''];
  const world: CliWorld = {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
    environment: {},
    onStopEvent() {},
    reportStarted() {},
    exitNow: () => expect.unreachable(),
  };
  expect(await runCli(world, ['status', '--url', url])).toBe(3);
  server.close();
  expect(stdout).toMatch(/^node 1 of syncline {2}not ready\n/);
  expect(stderr).toBe(`syncline: ${url} is not ready: slice:sets (loading).\n`);
});

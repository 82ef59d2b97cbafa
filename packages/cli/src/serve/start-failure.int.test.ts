import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { SynclineError } from '@syncline/kernel';
import { exitCodeOf } from '@syncline/protocol';
import { loadConfig } from '@syncline/server/config';
import { expect, test } from 'vitest';
import { explainStartFailure } from './start-failure.js';

const { config } = loadConfig({ environment: {} });

async function listening() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { port, [Symbol.asyncDispose]: async () => void server.close() };
}

function taken(port: number): SynclineError {
  return new SynclineError('unavailable', `cannot listen on 127.0.0.1:${port} (in use).`, {
    details: { reason: 'address-in-use', address: { host: '127.0.0.1', port } },
  });
}

test('for a port in use the error names the flag to change, and is a conflict', async () => {
  await using grpc = await listening();
  const flags = new Map([
    ['http.port', '0'],
    ['grpc.port', String(grpc.port)],
    ['resp.port', '0'],
  ]);
  const one = loadConfig({ flags, environment: {} }).config;
  const explained = (await explainStartFailure(taken(grpc.port), one)) as SynclineError;
  expect(explained.message).toMatch(
    new RegExp(`^cannot listen on 127\\.0\\.0\\.1:${grpc.port} \\(the port is in use\\)\\. `),
  );
  expect(explained.message).toMatch(/ To use any free port: --grpc-port 0\.$/);
  expect(exitCodeOf(explained)).toBe(5);

  await using http = await listening();
  flags.set('http.port', String(http.port));
  const both = loadConfig({ flags, environment: {} }).config;
  const all = (await explainStartFailure(taken(grpc.port), both)) as SynclineError;
  expect(all.message).toContain(
    `cannot listen on 127.0.0.1:${http.port}, 127.0.0.1:${grpc.port} (the ports are in use). `,
  );
  expect(all.message).toMatch(/ To use any free ports: --http-port 0 --grpc-port 0\.$/);
});

test('an address that this machine does not have is a usage error, not an unreachable server', async () => {
  const foreign = new SynclineError('unavailable', 'cannot listen on 10.9.9.9:7400', {
    details: { reason: 'not-local', address: { host: '10.9.9.9', port: 7400 } },
  });
  expect(exitCodeOf((await explainStartFailure(foreign, config)) as SynclineError)).toBe(2);
});

test('anything else passes unchanged', async () => {
  const locked = new SynclineError('locked', 'held by process 7');
  expect(await explainStartFailure(locked, config)).toBe(locked);
  const bug = new TypeError('boom');
  expect(await explainStartFailure(bug, config)).toBe(bug);
});

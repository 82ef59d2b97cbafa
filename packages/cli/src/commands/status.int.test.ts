// The status command against servers that are not ready, hostile, or use a private CA.
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { ServerStatus } from '@syncline/server';
import { type CertificatePair, makeCertificates } from '@syncline/testkit';
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
  peers: [],
  limitsReached: [],
};

async function ask(code: number, body: unknown, ...flags: readonly string[]) {
  const server = createServer((_, response) => {
    response.writeHead(code).end(JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const outcome = await run(['status', '--url', url, ...flags]);
  server.close();
  return { ...outcome, url };
}

async function run(args: readonly string[]) {
  let [stdout, stderr] = ['', ''];
  const world: CliWorld = {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
    environment: {},
    onStopEvent() {},
    onSuspend() {},
    ask: async () => undefined,
    reportStarted() {},
    makeNewFilesPrivate() {},
    exitNow: () => expect.unreachable(),
  };
  const exit = await runCli(world, args);
  return { exit, stdout, stderr };
}

test('the status of a server that is not ready is shown, and the exit code is 3', async () => {
  const { exit, url, stdout, stderr } = await ask(200, status);
  expect(exit).toBe(3);
  expect(stdout).toMatch(/^node 1 of cluster syncline {2}not ready\n/);
  expect(stderr).toBe(`syncline: ${url} is not ready: slice:sets (loading).\n`);
});

test('control characters from a server never reach the terminal', async () => {
  const evil = '\u001b[2J\u009b2J';
  const problem = { detail: evil, code: 'closed', retryable: false, outcome: 'not-applied' };
  const checks = [{ name: evil, ok: false, isFatal: false, reason: evil }];
  const hostile = { ...status, clusterId: evil, checks };
  for (const [code, body] of [
    [503, problem],
    [200, hostile],
  ] as const) {
    for (const flags of [[], ['--json'], ['--debug']]) {
      const { exit, stdout, stderr } = await ask(code, body, ...flags);
      expect(exit).not.toBe(0);
      expect(`${stdout}${stderr}`.match(/[^\P{Cc}\n]/gu)).toBeNull();
    }
  }
  const { stdout } = await ask(200, hostile, '--json');
  expect(JSON.parse(stdout)).toMatchObject({ clusterId: evil }); // JSON keeps the original text
});

test('--config is enough to trust a server whose certificate was signed by a private CA', async () => {
  await using certificates = await makeCertificates();
  const { server: own, untrusted } = certificates;
  const askWith = async ({ cert, key }: CertificatePair) => {
    const server = createSecureServer({ cert, key }, (_, response) => {
      response.writeHead(200).end(JSON.stringify(status));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const file = join(certificates.directory, 'syncline.toml');
    const tls = `[tls]\ncert_file = "${own.certFile}"\nkey_file = "${own.keyFile}"\n`;
    await writeFile(file, `${tls}[http]\nport = ${port}\n`);
    const outcome = await run(['status', '--config', file]);
    server.close();
    return outcome;
  };
  expect(await askWith(own)).toMatchObject({ stdout: expect.stringContaining('node 1 of') });
  expect((await askWith(untrusted)).stderr).toContain('not trusted');
});

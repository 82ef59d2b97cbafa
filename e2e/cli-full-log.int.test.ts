// Output that cannot be written: a server serves without its log, and a command reports that its data was lost.
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { CliProcess, runCli } from './cli-process.js';

const FULL = '/dev/full'; // every write to it fails as on a full disk

test('a full disk under the log does not stop the server', async ({ skip }) => {
  if (!existsSync(FULL)) skip(`no ${FULL} here`);
  const log = await open(FULL, 'w');
  const environment = { SYNCLINE_LOG_LEVEL: 'debug' };
  const args = ['serve', '--memory', '--http-port', '0', '--grpc-port', '0', '--resp-port', '0'];
  await using server = new CliProcess(args, { environment, stderrFile: log.fd });
  await log.close();
  const url = await server.url();
  for (let round = 0; round < 3; round += 1)
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
  server.child.kill('SIGTERM');
  expect(await server.end()).toEqual({ code: 0, signal: undefined });
});

test('a failure that cannot be reported keeps its exit code', async ({ skip }) => {
  if (!existsSync(FULL)) skip(`no ${FULL} here`);
  const log = await open(FULL, 'w');
  const end = await runCli(['serve', '--no-such-option'], { stderrFile: log.fd });
  await log.close();
  expect(end.code).toBe(2);
});

test('data that cannot be written is reported, without a stack trace', async ({ skip }) => {
  if (!existsSync(FULL)) skip(`no ${FULL} here`);
  const output = await open(FULL, 'w');
  const { code, stderr } = await runCli(['config', 'show'], { stdoutFile: output.fd });
  await output.close();
  expect(code).toBe(1);
  expect(stderr).toMatch(/^syncline: cannot write to standard output: ENOSPC: no space left.*\n$/);
});

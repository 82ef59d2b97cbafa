// Starts that must fail: each gives one clear line on standard error, nothing on standard output, and
// a non-zero exit code.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import {
  makeCertificates,
  makeTempDirectory,
  mountSmallDisk,
  type TempDirectory,
  type TestCertificates,
} from '@syncline/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CliProcess, COMMAND, runCli } from './cli-process.js';

let directory: TempDirectory;
let certificates: TestCertificates;

beforeAll(async () => {
  directory = await makeTempDirectory('start');
  certificates = await makeCertificates();
});

afterAll(async () => {
  await directory[Symbol.asyncDispose]();
  await certificates[Symbol.asyncDispose]();
});

async function refusal(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number | undefined; readonly line: string }> {
  const free = [
    '--http-port',
    '0',
    '--grpc-port',
    '0',
    '--resp-port',
    '0',
    '--data-dir',
    join(directory.path, 'data'),
  ];
  const isFree = !args.some((arg) => arg === '--http-port' || arg === '--data-dir');
  const all = ['serve', ...(isFree ? free : []), ...args];
  const { code, stdout, stderr } = await runCli(all, { cwd: directory.path, environment });
  expect(stdout).toBe('');
  const line = stderr.trimEnd().split('\n').at(-1) ?? ''; // preceded by the log
  expect(line).toMatch(/^syncline: /);
  return { code, line: line.slice('syncline: '.length) };
}

test.each(['http', 'grpc'])('a taken port for %s', async (listener) => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const ports = [
    '--http-port',
    '0',
    '--grpc-port',
    '0',
    '--resp-port',
    '0',
    `--${listener}-port`,
    String(port),
  ];
  const { code, stdout, stderr } = await runCli(['serve', '--memory', ...ports]);
  other.close();
  expect(code).toBe(5);
  expect(stdout).not.toContain(`"${listener}"`); // gRPC is opened before HTTP, and announced
  const line = stderr.trimEnd().split('\n').at(-1); // preceded by the log
  expect(line).toContain(`syncline: cannot listen on 127.0.0.1:${port} (the port is in use)`);
  expect(line).toContain(`--${listener}-port 0`);
});

test('a start that fails because of a port creates no data directory', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const path = join(directory.path, 'never');
  const free = ['--grpc-port', '0', '--resp-port', '0'];
  const { code, line } = await refusal([
    '--http-port',
    String(port),
    ...free,
    ...['--data-dir', path],
  ]);
  other.close();
  expect(code).toBe(5);
  expect(line).toContain(`cannot listen on 127.0.0.1:${port} (the port is in use)`);
  expect(line).toContain('--http-port 0');
  expect(existsSync(path)).toBe(false);
});

test('a data directory below a file', async () => {
  await writeFile(join(directory.path, 'file'), '');
  const path = join(directory.path, 'file', 'data');
  const { code, line } = await refusal([
    '--http-port',
    '0',
    '--grpc-port',
    '0',
    '--data-dir',
    path,
  ]);
  expect(code).toBe(2);
  expect(line).toContain(path);
  expect(line).toContain('is a file, not a directory');
});

test('a data directory on a read-only mount', async ({ skip }) => {
  const disk = mountSmallDisk(1024 * 1024);
  if ('reason' in disk) return skip(disk.reason);
  using mounted = disk;
  mounted.makeReadOnly();
  const path = join(mounted.path, 'deeper', 'data');
  const ports = ['--http-port', '0', '--grpc-port', '0', '--resp-port', '0'];
  const { code, line } = await refusal([...ports, '--data-dir', path]);
  expect(code).toBe(2);
  expect(line).toContain(`${path}: the file system is read-only`);
});

test('a data directory that another server holds: its process id is named', async () => {
  await using holder = new CliProcess(
    ['serve', '--http-port', '0', '--grpc-port', '0', '--resp-port', '0'],
    {
      cwd: directory.path,
    },
  );
  await holder.url();
  const { code, line } = await refusal([
    '--http-port',
    '0',
    '--grpc-port',
    '0',
    '--data-dir',
    'syncline-data',
  ]);
  expect(code).toBe(5);
  expect(line).toContain(`syncline-data is in use by process ${holder.child.pid} on `);
});

test('TLS files that do not belong together', async () => {
  const { certFile, keyFile } = certificates.mismatched;
  const mismatched = await refusal([], {
    SYNCLINE_TLS_CERT_FILE: certFile,
    SYNCLINE_TLS_KEY_FILE: keyFile,
  });
  expect(mismatched.code).toBe(2);
  expect(mismatched.line).toContain(
    `tls.key_file: cannot use ${keyFile}: the TLS key does not belong to`,
  );
});

// Every other part that may be missing is tested in packages/server/src/config/exposure.test.ts.
test('outside loopback without authentication, with part of it, and with all of it', async () => {
  const everywhere = ['--listen-host', '0.0.0.0'];
  const open = await refusal(everywhere);
  expect(open.code).toBe(2);
  expect(open.line).toMatch(/^refusing to listen on 0\.0\.0\.0 without authentication: /);
  for (const name of ['tls.cert_file', 'tls.key_file', 'auth.token_file', 'resp.password_file'])
    expect(open.line).toContain(name);

  const tls = {
    SYNCLINE_TLS_CERT_FILE: certificates.server.certFile,
    SYNCLINE_TLS_KEY_FILE: certificates.server.keyFile,
  };
  const token = { SYNCLINE_TOKEN: 'abcdefgh-12345678' };
  const noPassword = await refusal(everywhere, { ...tls, ...token });
  expect(noPassword.line).toContain('resp needs a password');

  const environment = { ...tls, ...token, SYNCLINE_RESP_PASSWORD: 'abcdefgh-12345678' };
  const args = [
    'serve',
    '--memory',
    '--http-port',
    '0',
    '--grpc-port',
    '0',
    '--resp-port',
    '0',
    ...everywhere,
  ];
  await using server = new CliProcess(args, { environment });
  expect(await server.url()).toMatch(/^http:\/\/0\.0\.0\.0:\d+$/);
});

test.each([160, 230])('a limit of %i open files', async (filesMax) => {
  const args = [`--nofile=${filesMax}`, process.execPath, COMMAND, 'serve', '--memory'];
  const { code, stderr } = await new Promise<{ code: unknown; stderr: string }>((resolve) => {
    execFile('prlimit', args, (error, _, text) => resolve({ code: error?.code, stderr: text }));
  });
  expect(code).toBe(1);
  const lines = stderr.trimEnd().split('\n');
  expect(lines.at(-1)).toMatch(/^syncline: this process may open .* Raise the limit: "ulimit -n/);
  expect(lines.length).toBeLessThanOrEqual(2); // preceded by at most one log line, and no stack
});

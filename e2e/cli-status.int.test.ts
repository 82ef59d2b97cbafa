// `syncline status` against real servers: open, with TLS and a token, with mutual TLS, and without any server.
import { X509Certificate } from 'node:crypto';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeCertificates, makeTempDirectory } from '@syncline/testkit';
import { expect, test } from 'vitest';
import { CliProcess, runCli } from './cli-process.js';
import { runProgram } from './run-program.js';

const SERVE = ['serve', '--memory', '--http-port', '0', '--grpc-port', '0', '--resp-port', '0'];

test('output for people and for programs, and https to a server that speaks plain HTTP', async () => {
  await using server = new CliProcess([...SERVE, '--node-id', '7']);
  const url = await server.url();
  const people = await runCli(['status', '--url', url]);
  expect(people).toMatchObject({ code: 0, stderr: '' });
  expect(people.stdout).toMatch(/^node 7 of cluster syncline {2}ready\n/);
  expect(people.stdout).toContain(new URL(url).host);
  const programs = await runCli(['status', '--json'], { environment: { SYNCLINE_URL: url } });
  expect(JSON.parse(programs.stdout)).toMatchObject({ nodeId: 7, isReady: true });
  const secure = url.replace('http:', 'https:');
  expect(await runCli(['status', '--url', secure])).toMatchObject({
    code: 3,
    stderr: `syncline: cannot reach ${secure} (it does not use TLS). Use http:// in --url.\n`,
  });
});

test('no server: exit 3, the reason, and the next step', async () => {
  const { code, stdout, stderr } = await runCli(['status', '--url', 'http://127.0.0.1:1']);
  expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
  expect(stderr).toBe(
    'syncline: cannot reach http://127.0.0.1:1 (connection refused). No server seems to be running there. Start one with "npx syncline serve", or pass --url.\n',
  );
});

test('TLS and a token from a file: what happens without the CA, and without the token', async () => {
  await using certificates = await makeCertificates();
  const { server: own, ca, directory } = certificates;
  const config = join(directory, 'tls.toml');
  await writeFile(config, `[tls]\ncert_file = "${own.certFile}"\nkey_file = "${own.keyFile}"\n`);
  const tokenFile = join(directory, 'token');
  await writeFile(tokenFile, 'abc123\n', { mode: 0o600 });
  const environment = { SYNCLINE_TOKEN_FILE: tokenFile };
  await using server = new CliProcess([...SERVE, '--config', config], { environment });
  const url = (await server.url()).replace('http:', 'https:');

  const plain = await runCli(['status', '--url', url.replace('https:', 'http:')]);
  expect(plain).toMatchObject({ code: 3 });
  expect(plain.stderr).toContain('If it uses TLS, use https://');
  const untrusted = await runCli(['status', '--url', url]);
  expect(untrusted).toMatchObject({ code: 3 });
  expect(untrusted.stderr).toContain('Pass the CA that signed it with --ca-file.');
  const noPem = await runCli(['status', '--url', url, '--ca-file', config]);
  expect(noPem).toMatchObject({ code: 2 });
  expect(noPem.stderr).toContain(`--ca-file: cannot use ${config}: `);

  const trusting = ['status', '--url', url, '--ca-file', ca.certFile];
  const without = await runCli(trusting);
  expect(without).toMatchObject({ code: 1, stdout: '' });
  expect(without.stderr).toContain('requires a token. Set SYNCLINE_TOKEN_FILE');
  const wrong = await runCli(trusting, { environment: { SYNCLINE_TOKEN: 'no' } });
  expect(wrong.stderr).toContain('does not accept the token from SYNCLINE_TOKEN. Use the one in');
  const otherFile = join(directory, 'other-token');
  await writeFile(otherFile, 'xyz789\n', { mode: 0o600 });
  const other = await runCli(trusting, { environment: { SYNCLINE_TOKEN_FILE: otherFile } });
  expect(other.stderr).toContain(
    `does not accept the token from ${otherFile} (from SYNCLINE_TOKEN_FILE). Use`,
  );
  expect(await runCli(trusting, { environment })).toMatchObject({ code: 0 });
});

test('the files of make-secrets.sh are enough for mutual TLS with a token, and for the health check of the image', async () => {
  await using directory = await makeTempDirectory('secrets');
  const script = fileURLToPath(new URL('../deploy/make-secrets.sh', import.meta.url));
  const names = ['node1.internal', 'localhost', '127.0.0.1'];
  const make = (...asked: string[]) => runProgram('sh', [script, directory.path, ...asked]);
  const all =
    'ca.pem, ca.key, server.pem, server.key, client.pem, client.key, token, resp-password, mesh-secret';
  const stderr = `Created in ${directory.path}: ${all}\n`;
  expect(await make(...names)).toEqual({ code: 0, stdout: '', stderr });
  const path = (name: string) => join(directory.path, name);
  const { subjectAltName } = new X509Certificate(await readFile(path('server.pem')));
  expect(subjectAltName).toBe('DNS:node1.internal, DNS:localhost, IP Address:127.0.0.1');
  const modeOf = async (name: string) => (await stat(path(name))).mode & 0o777;
  expect(await modeOf('ca.pem')).toBe(0o644);
  for (const name of ['ca.key', 'server.key', 'client.key', 'token'])
    expect(await modeOf(name)).toBe(0o600);
  const common = `[auth]\ntoken_file = "${path('token')}"\n[tls]\nca_file = "${path('ca.pem')}"\n`;
  const configOf = (pair: string) =>
    `${common}cert_file = "${path(`${pair}.pem`)}"\nkey_file = "${path(`${pair}.key`)}"\n`;
  await writeFile(path('server.toml'), configOf('server'));
  await writeFile(path('client.toml'), configOf('client'));
  await using server = new CliProcess([...SERVE, '--config', path('server.toml')]);
  const url = (await server.url()).replace('http:', 'https:');
  expect(await runCli(['status', '--url', url, '--ca-file', path('ca.pem')])).toMatchObject({
    code: 3,
    stderr: `syncline: cannot reach ${url} (it requires a client certificate). Pass --cert-file and --key-file, or --config with tls.cert_file and tls.key_file.\n`,
  });
  const asked = await runCli(['status', '--url', url, '--config', path('client.toml')]);
  expect(asked).toMatchObject({ code: 0, stderr: '' });

  const healthCheck = fileURLToPath(new URL('../deploy/healthcheck.mjs', import.meta.url));
  const probe = (port: string) =>
    runProgram(process.execPath, [healthCheck], {
      environment: {
        SYNCLINE_HTTP_PORT: port,
        SYNCLINE_TLS_CERT_FILE: path('server.pem'),
        SYNCLINE_TLS_KEY_FILE: path('server.key'),
      },
    });
  expect(await probe(new URL(url).port)).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(await probe('1')).toMatchObject({ code: 1 });

  const named = [
    'status',
    '--url',
    url,
    '--ca-file',
    path('ca.pem'),
    '--cert-file',
    path('client.pem'),
  ];
  const whole = await runCli([...named, '--key-file', path('client.key')], {
    environment: { SYNCLINE_TOKEN_FILE: path('token') },
  });
  expect(whole).toMatchObject({ code: 0, stderr: '' });
  expect(await runCli(named)).toMatchObject({
    code: 2,
    stderr:
      'syncline: --cert-file is given but --key-file is not. A client certificate needs its key: pass both.\n',
  });
  const mismatched = await runCli([...named, '--key-file', path('server.key')]);
  expect(mismatched).toMatchObject({ code: 2 });
  expect(mismatched.stderr).toContain(`--key-file: cannot use ${path('server.key')}: `);
});

test('make-secrets.sh says what it keeps, and refuses names that a kept certificate does not cover', async () => {
  await using directory = await makeTempDirectory('secrets');
  const script = fileURLToPath(new URL('../deploy/make-secrets.sh', import.meta.url));
  const make = (...names: string[]) => runProgram('sh', [script, directory.path, ...names]);
  const path = (name: string) => join(directory.path, name);
  expect(await make('node1', '10.0.0.1', '::1')).toMatchObject({ code: 0 });
  await rm(path('client.pem'));
  await rm(path('token'));
  expect(await make('10.0.0.1', '::1')).toEqual({
    code: 0,
    stdout: '',
    stderr: `Created in ${directory.path}: client.pem, client.key, token\nKept: ca.pem, server.pem, resp-password, mesh-secret\n`,
  });
  const before = await readFile(path('server.pem'), 'utf8');
  expect(await make('node1', 'other.name', '10.0.0.2')).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'server.pem is kept, but does not cover other.name, 10.0.0.2 (it covers: node1, 10.0.0.1, 0:0:0:0:0:0:0:1, localhost, 127.0.0.1). Delete server.pem and server.key and run this again.\n',
  });
  expect(await readFile(path('server.pem'), 'utf8')).toBe(before);
  await rm(path('server.pem'));
  await rm(path('ca.key'));
  expect(await make('node1')).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'ca.key is missing, so server.pem cannot be signed. Put it next to ca.pem and run this again.\n',
  });
});

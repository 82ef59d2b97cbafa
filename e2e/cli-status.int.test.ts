// `syncline status` against real servers: open, with a token, with TLS, with mutual TLS, and none.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeCertificates, makeTempDirectory } from '@syncline/testkit';
import { expect, test } from 'vitest';
import { CliProcess, runCli } from './cli-process.js';

const SERVE = ['serve', '--memory', '--http-port', '0', '--grpc-port', '0', '--resp-port', '0'];

test('for people and for programs', async () => {
  await using server = new CliProcess([...SERVE, '--node-id', '7']);
  const url = await server.url();
  const people = await runCli(['status', '--url', url]);
  expect(people).toMatchObject({ code: 0, stderr: '' });
  expect(people.stdout).toMatch(/^node 7 of syncline {2}ready\n/);
  expect(people.stdout).toContain(new URL(url).host);
  const programs = await runCli(['status', '--json'], { environment: { SYNCLINE_URL: url } });
  expect(JSON.parse(programs.stdout)).toMatchObject({ nodeId: 7, isReady: true });
});

test('no server there: exit 3, why, and the next step', async () => {
  const { code, stdout, stderr } = await runCli(['status', '--url', 'http://127.0.0.1:1']);
  expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
  expect(stderr).toBe(
    'syncline: cannot reach http://127.0.0.1:1 (connection refused). Probably no server runs there. Start one with "npm start", or pass --url.\n',
  );
});

test('https to a server that speaks plain HTTP', async () => {
  await using server = new CliProcess(SERVE);
  const url = (await server.url()).replace('http:', 'https:');
  expect(await runCli(['status', '--url', url])).toMatchObject({
    code: 3,
    stderr: `syncline: cannot reach ${url} (it speaks no TLS). Write http:// in --url.\n`,
  });
});

test('a token from its file, and what happens without it', async () => {
  await using directory = await makeTempDirectory('status');
  const file = join(directory.path, 'token');
  await writeFile(file, 'abc123\n', { mode: 0o600 });
  const environment = { SYNCLINE_TOKEN_FILE: file };
  await using server = new CliProcess(SERVE, { environment });
  const url = await server.url();
  const without = await runCli(['status', '--url', url]);
  expect(without).toMatchObject({ code: 1, stdout: '' });
  expect(without.stderr).toContain('wants a token. Set SYNCLINE_TOKEN_FILE');
  const wrong = await runCli(['status', '--url', url], { environment: { SYNCLINE_TOKEN: 'no' } });
  expect(wrong.stderr).toContain('does not accept this token');
  expect(await runCli(['status', '--url', url], { environment })).toMatchObject({ code: 0 });
});

test('TLS: the authority is a flag or stands in the configuration', async () => {
  await using certificates = await makeCertificates();
  const { server: own, ca } = certificates;
  const tls = `[tls]\ncert_file = "${own.certFile}"\nkey_file = "${own.keyFile}"\n`;
  const file = join(certificates.directory, 'tls.toml');
  await writeFile(file, tls);
  await using server = new CliProcess([...SERVE, '--config', file]);
  const url = (await server.url()).replace('http:', 'https:');

  const plain = await runCli(['status', '--url', url.replace('https:', 'http:')]);
  expect(plain).toMatchObject({ code: 3 });
  expect(plain.stderr).toContain('If it speaks TLS, write https://');
  const untrusted = await runCli(['status', '--url', url]);
  expect(untrusted).toMatchObject({ code: 3 });
  expect(untrusted.stderr).toContain('Pass the authority that signed it with --ca-file.');
  const noPem = await runCli(['status', '--url', url, '--ca-file', file]);
  expect(noPem).toMatchObject({ code: 2 });
  expect(noPem.stderr).toContain(`--ca-file: cannot use ${file}: `);
  expect(await runCli(['status', '--url', url, '--ca-file', ca.certFile])).toMatchObject({
    code: 0,
  });

  const mutualFile = join(certificates.directory, 'mutual.toml');
  await writeFile(mutualFile, `${tls}ca_file = "${ca.certFile}"\n`);
  await using mutual = new CliProcess([...SERVE, '--config', mutualFile]);
  const mutualUrl = (await mutual.url()).replace('http:', 'https:');
  const nameless = await runCli(['status', '--url', mutualUrl, '--ca-file', ca.certFile]);
  expect(nameless).toMatchObject({
    code: 3,
    stderr: `syncline: cannot reach ${mutualUrl} (it demands a client certificate). Pass --config with tls.cert_file and tls.key_file.\n`,
  });
  const named = await runCli(['status', '--url', mutualUrl, '--config', mutualFile]);
  expect(named).toMatchObject({ code: 0, stderr: '' });
});

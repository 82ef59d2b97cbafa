// The command line from arguments to output and exit code, in a test world. The texts are golden files:
// `vitest -u` rewrites them, and the diff is reviewed.
import '@syncline/server'; // loaded here, so that its load time does not count against the first test
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import type { CliWorld } from './cli-world.js';
import { runCli } from './run-cli.js';

interface Result {
  readonly stdout: string;
  readonly stderr: string;
  readonly exit: number;
}

async function run(
  line: string,
  environment: Readonly<Record<string, string>> = {},
  isTTY = false,
): Promise<Result> {
  const written = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') => ({
    isTTY,
    write: (text: string) => {
      written[name] += text;
    },
  });
  const world: CliWorld = {
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    environment,
    onStopEvent() {},
    onSuspend() {},
    ask: async () => undefined,
    reportStarted() {},
    makeNewFilesPrivate() {},
    exitNow: () => expect.unreachable(),
  };
  const exit = await runCli(world, line === '' ? [] : line.split(' '));
  return { ...written, exit };
}

/** The session as a user would see it. */
async function transcript(lines: readonly string[]): Promise<string> {
  const parts: string[] = [];
  for (const line of lines) {
    const { stdout, stderr, exit } = await run(line);
    parts.push(`$ syncline ${line}\n${stdout}${stderr}(exit ${exit})\n`);
  }
  return parts.join('\n').replaceAll(resolve(), 'DIR');
}

test('the help begins with examples', async () => {
  const commands = [
    '--help',
    'serve --help',
    'dev --help',
    'status --help',
    'jobs ls --help',
    'jobs show --help',
    'jobs watch --help',
    'jobs rm --help',
    'fair eval --help',
    'fair top --help',
    'config show --help',
  ];
  const text = await transcript(commands);
  await expect(text).toMatchFileSnapshot('../testdata/help.txt');
  for (const line of commands) expect((await run(line)).stdout).toMatch(/^Examples:\n/);
  expect(text.split('\n').filter((line) => line.length > 80)).toEqual([]);
});

test('"help COMMAND" is the same as "COMMAND --help"', async () => {
  expect(await run('help')).toEqual(await run('--help'));
  for (const line of ['jobs', 'config show', 'jobs show'])
    expect(await run(`help ${line}`)).toEqual(await run(`${line} --help`));
});

test('wrong usage is one line with the closest match and how to get help', async () => {
  const lines = [
    'serve --no-such-flag',
    'serve --htp-port 1',
    'serve --http-port',
    'serve more',
    'srve',
    'stop',
    'sets',
    'help sets',
    'help jobs nope',
    'help jobs show nope',
    'status extra',
    'jobs show a b',
    'sets --help',
    'config shw',
    'dev --memory',
    'serve --http-port 99999',
    'serve --memory --data-dir /data',
    'serve --config no-such-file.toml',
    'dev -n 0',
    'dev -n 17',
    'dev -n 3 --http-port 65530',
    'status --url 127.0.0.1:7400',
    'status --url http://127.0.0.1:7400/api',
    'status --ca-file no-such-file.pem',
    'fair eval --seeds none',
    'fair eval --scenario noisy-neighbours',
    'fair evl',
    'fair top --once',
    'fair top --verison',
    'jobs wach a',
    'jobs show',
    'jobs show a --task 1.5',
    'jobs watch a --until-done',
    'jobs ls --worst bad',
  ];
  const text = await transcript(lines);
  await expect(text).toMatchFileSnapshot('../testdata/usage.txt');
  for (const line of lines) {
    const { stdout, stderr, exit } = await run(line);
    expect({ line, stdout, exit }).toEqual({ line, stdout: '', exit: 2 });
    expect(stderr).toMatch(/^syncline: .*\n$/);
  }
});

test('without a command, the help goes to standard error and the exit code is 2', async () => {
  const { stdout, stderr, exit } = await run('');
  expect({ stdout, exit }).toEqual({ stdout: '', exit: 2 });
  expect(stderr).toMatch(/^Examples:/);
});

test('--version prints to standard output', async () => {
  for (const line of ['--version', '-v'])
    expect(await run(line)).toEqual({ stdout: '0.1.0\n', stderr: '', exit: 0 });
});

test('a stack trace is printed only with --debug or SYNCLINE_DEBUG', async () => {
  const plain = await run('status --url nonsense');
  expect(plain.stderr).not.toContain('    at ');
  const flag = await run('status --url nonsense --debug');
  const variable = await run('status --url nonsense', { SYNCLINE_DEBUG: '1' });
  for (const { stderr, exit } of [flag, variable]) {
    expect(stderr).toMatch(/^syncline: --url is "nonsense"/);
    expect(stderr).toContain('    at ');
    expect(stderr.match(/--url is "nonsense"/g)).toHaveLength(1);
    expect(exit).toBe(2);
  }
});

test('colors are used on a terminal, but not with NO_COLOR', async () => {
  const start = '\u001b[';
  expect((await run('srve', {}, true)).stderr).toContain(start);
  expect((await run('--help', {}, true)).stdout).toContain(start);
  expect((await run('srve', { NO_COLOR: '1' }, true)).stderr).not.toContain(start);
  expect((await run('srve')).stderr).not.toContain(start);
});

test('config show prints TOML with origins, and hides secrets', async () => {
  const environment = { SYNCLINE_HTTP_PORT: '7500', SYNCLINE_TOKEN: 's3cret' };
  const { stdout, exit } = await run(
    'config show --origin --node-id 2 --peer 1@127.0.0.1:7403',
    environment,
  );
  expect(exit).toBe(0);
  expect(stdout).not.toContain('s3cret');
  await expect(stdout).toMatchFileSnapshot('../testdata/config-show.txt');
});

test('config show reports what serve would refuse, and still shows the settings', async () => {
  const open = await run('config show --listen-host 0.0.0.0');
  expect(open.stdout).toContain('listen_host = "0.0.0.0"');
  expect(open.stderr).toMatch(
    /^syncline: "serve" would not start: refusing to listen on 0\.0\.0\.0/,
  );
  expect(open.exit).toBe(2);
  const unresolved = await run('config show --listen-host nowhere..invalid');
  expect(unresolved.stderr).toContain('listen_host is "nowhere..invalid", which does not resolve');
  expect(unresolved.exit).toBe(2);
  const missing = await run('config show', { SYNCLINE_TOKEN_FILE: 'no-such-file' });
  expect(missing.stderr).toContain(
    `cannot read no-such-file (no such file, relative to ${resolve()})`,
  );
  expect(missing.exit).toBe(2);
});

test('config show warns of insecure listening, as every start does', async () => {
  const { stderr, exit } = await run('config show --listen-host 0.0.0.0 --insecure-listen');
  expect(stderr).toMatch(/^Warning: insecure_listen is set: .*http.* on 0\.0\.0\.0 can be used by/);
  expect(exit).toBe(0);
});

test('config show --json prints the same settings as JSON', async () => {
  const environment = { SYNCLINE_HTTP_PORT: '7500', SYNCLINE_TOKEN: 's3cret' };
  const plain = JSON.parse((await run('config show --json', environment)).stdout);
  expect(plain).toMatchObject({ 'http.port': 7500, 'tls.cert_file': null, 'auth.token': '***' });
  const origins = JSON.parse((await run('config show --json --origin', environment)).stdout);
  expect(origins['http.port']).toEqual({ value: 7500, origin: 'SYNCLINE_HTTP_PORT' });
  expect(origins['node_id']).toEqual({ value: 1, origin: 'default' });
});

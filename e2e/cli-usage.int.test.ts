// Wrong usage and wrong configuration, as seen in a shell.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTempDirectory } from '@syncline/testkit';
import { expect, test } from 'vitest';
import { CliProcess, COMMAND, runCli } from './cli-process.js';

test('an unknown flag exits 2 and suggests the nearest one', async () => {
  const unknown = await runCli(['serve', '--no-such-flag']);
  expect(unknown).toMatchObject({ code: 2, stdout: '' });
  expect(unknown.stderr).toMatch(/^syncline: unknown option "--no-such-flag"\. .*--config, .*\n$/);
  const near = await runCli(['serve', '--htp-port', '0']);
  expect(near.stderr).toContain('Did you mean "--http-port"?');
  const setting = await runCli(['serve', '--durability', 'synced']);
  expect(setting.code).toBe(2);
  expect(setting.stderr).toContain('use sets.durability in the file, or SYNCLINE_SETS_DURABILITY.');
});

test('the version does not wait for the server to be loaded', async () => {
  await using directory = await makeTempDirectory('usage');
  const file = join(directory.path, 'list-modules.cjs');
  await writeFile(file, 'process.on("exit", () => console.error(Object.keys(require.cache)));');
  const environment = { NODE_OPTIONS: `--require=${file}` };
  const { stderr } = await runCli(['--version'], { command: COMMAND, environment });
  expect(stderr).toContain('commander');
  expect(stderr).not.toMatch(/fastify|grpc|prom-client/);
});

test('an unknown key in the file names the file, the key and the nearest one', async () => {
  await using directory = await makeTempDirectory('usage');
  const file = join(directory.path, 'syncline.toml');
  await writeFile(file, '[htp]\nport = 7400\n');
  const { code, stdout, stderr } = await runCli(['serve', '--config', file]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toBe(`syncline: ${file}: unknown key "htp.port". Did you mean "http.port"?\n`);
});

test('an unknown variable is an error too', async () => {
  const { code, stderr } = await runCli(['serve'], { environment: { SYNCLINE_HTP_PORT: '1' } });
  expect(code).toBe(2);
  expect(stderr).toMatch(
    /^syncline: unknown environment variable SYNCLINE_HTP_PORT\. Did you mean/,
  );
});

test('in a pod, the variables of the services around it do not stop the server', async () => {
  // What Kubernetes sets for the service of deploy/kubernetes/services.yaml, and for one named syncline-http.
  const ofService = (name: string, ports: Readonly<Record<string, number>>) => {
    const [first = 0] = Object.values(ports);
    const parts = Object.entries(ports).flatMap(([port, number]) => [
      [`SERVICE_PORT_${port.toUpperCase()}`, `${number}`],
      [`PORT_${number}_TCP`, `tcp://10.0.0.1:${number}`],
      [`PORT_${number}_TCP_PROTO`, 'tcp'],
      [`PORT_${number}_TCP_PORT`, `${number}`],
      [`PORT_${number}_TCP_ADDR`, '10.0.0.1'],
    ]);
    const all = [
      ['SERVICE_HOST', '10.0.0.1'],
      ['SERVICE_PORT', `${first}`],
      ['PORT', `tcp://10.0.0.1:${first}`],
      ...parts,
    ];
    return Object.fromEntries(all.map(([part, value]) => [`${name}_${part}`, value]));
  };
  const environment = {
    ...ofService('KUBERNETES', { https: 443 }),
    ...ofService('SYNCLINE', { http: 7400, resp: 7402 }),
    ...ofService('SYNCLINE_HTTP', { http: 7400 }),
    SYNCLINE_GRPC_PORT: '0',
  };
  const ports = ['--http-port', '0', '--resp-port', '0'];
  await using server = new CliProcess(['serve', '--memory', ...ports], { environment });
  const ready = await fetch(`${await server.url()}/healthz`);
  expect(ready.status).toBe(200);
});

test('what config show prints is a configuration with the same values', async () => {
  await using directory = await makeTempDirectory('usage');
  const flags = ['--node-id', '3', '--data-dir', 'a "quoted" \\ name', '--peer', '1@[::1]:7403'];
  const shown = await runCli(['config', 'show', ...flags]);
  const file = join(directory.path, 'shown.toml');
  await writeFile(file, shown.stdout);
  const again = await runCli(['config', 'show', '--config', file]);
  expect(again).toEqual({ ...shown, code: 0 });
});

test('a server whose output is not read keeps running', async () => {
  await using server = new CliProcess([
    'serve',
    '--memory',
    '--http-port',
    '0',
    '--grpc-port',
    '0',
    '--resp-port',
    '0',
  ]);
  server.child.stdout?.destroy();
  const port = await server.until(
    'port in the log',
    () => /"listener":"http".*"port":(\d+)/.exec(server.stderr)?.[1],
  );
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
  server.child.kill('SIGTERM');
  expect(await server.end()).toEqual({ code: 0, signal: undefined });
});

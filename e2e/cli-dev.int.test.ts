// `syncline dev`: a local cluster of real processes.
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { makeTempDirectory } from '@syncline/testkit';
import { expect, test } from 'vitest';
import { CliProcess, runCli } from './cli-process.js';

const FREE_PORTS = ['--http-port', '0', '--grpc-port', '0', '--resp-port', '0', '--mesh-port', '0'];

function start(directory: string, ...args: readonly string[]): CliProcess {
  const environment = { TMPDIR: directory };
  return new CliProcess(['dev', ...FREE_PORTS, ...args], { environment, isGroup: true });
}

interface Node {
  readonly node: number;
  readonly url: string;
}

async function nodesOf(dev: CliProcess, count: number): Promise<readonly Node[]> {
  const lines = await dev.until(`${count} nodes`, () => {
    const found = dev.listeners().filter(({ listener }) => listener === 'http');
    return found.length === count ? found : undefined;
  });
  return lines.map(({ node = 0, host, port }) => ({ node, url: `http://${host}:${port}` }));
}

interface Status {
  readonly nodeId: number;
  readonly dataDir: string;
  readonly peers: readonly { readonly state: string }[];
}

const POLL = { timeout: 60_000, interval: 50 };

async function statusOf({ url }: Node): Promise<Status | undefined> {
  const response = await fetch(`${url}/api/status`).catch(() => undefined);
  return response === undefined ? undefined : ((await response.json()) as Status);
}

/** Its process id, from the file that marks its data directory as in use. */
async function processOf(node: Node): Promise<number> {
  const owner = `${(await statusOf(node))?.dataDir}/owner.json`;
  return (JSON.parse(await readFile(owner, 'utf8')) as { readonly pid: number }).pid;
}

test('three nodes; one dies and the others keep running; Ctrl-C stops all and leaves nothing behind', async () => {
  await using directory = await makeTempDirectory('dev');
  await using dev = start(directory.path);
  const nodes = await nodesOf(dev, 3);
  expect(nodes.map(({ node }) => node)).toEqual([1, 2, 3]);
  for (const node of nodes) expect((await statusOf(node))?.nodeId).toBe(node.node);
  const connectedOf = async (node: Node) =>
    (await statusOf(node))?.peers.filter(({ state }) => state === 'connected').length;
  for (const node of nodes) await expect.poll(() => connectedOf(node), POLL).toBe(2);

  const [first, second] = nodes;
  if (first === undefined || second === undefined) throw new Error('three nodes were started');
  process.kill(await processOf(second), 'SIGKILL');
  const report =
    /node 2 exited \(SIGKILL\).*\n.*--node-id 2 .*\nStop it before you stop the others/;
  await dev.until('report', () => report.exec(dev.stderr) ?? undefined);
  expect((await statusOf(first))?.nodeId).toBe(1);

  dev.pressControlC();
  expect(await dev.end()).toEqual({ code: 0, signal: undefined });
  expect(dev.stderr).not.toContain('stopped without waiting'); // each node was asked once
  for (const node of nodes) expect(await statusOf(node)).toBeUndefined();
  expect(await readdir(directory.path)).toEqual([]);
  expect(dev.stderr).toMatch(/^1 \| .*listening/m);
  expect(dev.stderr).not.toContain('node=');
});

test('a closed terminal stops all and leaves only the data that should be kept', async () => {
  await using directory = await makeTempDirectory('dev');
  await using dev = start(directory.path, '-n', '1', '--keep-data', `${directory.path}/kept`);
  const [node] = await nodesOf(dev, 1);
  dev.child.kill('SIGHUP');
  dev.child.kill('SIGHUP'); // from the system and from the shell
  expect(await dev.end()).toEqual({ code: 0, signal: undefined });
  expect(node && (await statusOf(node))).toBeUndefined();
  expect(await readdir(directory.path)).toEqual(['kept']);
  expect(await readdir(`${directory.path}/kept`)).toEqual(['node-1']);
});

test('nodes end by themselves when dev is killed', async () => {
  await using directory = await makeTempDirectory('dev');
  await using dev = start(directory.path, '-n', '1');
  const nodes = await nodesOf(dev, 1);
  const processes = await Promise.all(nodes.map(processOf));
  dev.child.kill('SIGKILL');
  await expect.poll(() => processes.filter(isAlive), { timeout: 60_000, interval: 50 }).toEqual([]);
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('a port in use is reported before any node starts, and no process or file is left behind', async () => {
  await using directory = await makeTempDirectory('dev');
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const args = ['dev', '-n', '2', ...FREE_PORTS, '--http-port', String(port - 10)];
  const environment = { TMPDIR: directory.path };
  const { code, stdout, stderr } = await runCli(args, { environment });
  other.close();
  expect({ code, stdout }).toEqual({ code: 5, stdout: '' });
  expect(stderr).toMatch(
    new RegExp(
      `^syncline: node 2 cannot start: cannot listen on 127.0.0.1:${port} .* --http-port 0\\.\\n$`,
    ),
  );
  expect(await readdir(directory.path)).toEqual([]);
});

test('an unusable directory gives the same exit code as serve', async () => {
  await using directory = await makeTempDirectory('dev');
  await writeFile(`${directory.path}/file`, '');
  const args = ['dev', ...FREE_PORTS, '-n', '1', '--keep-data', `${directory.path}/file/x`];
  const { code, stderr } = await runCli(args);
  expect(code).toBe(2);
  expect(stderr.match(/is a file, not a directory/g)).toHaveLength(1);
});

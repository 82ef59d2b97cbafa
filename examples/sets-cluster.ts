// Three nodes hold the same sets. This example writes to all of them at once, cuts one off, kills another with
// SIGKILL, lets them recover, and checks that all three are equal and nothing acknowledged is missing.
//
//   npm run example -- sets-cluster
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findFreePorts } from '@syncline/kernel/node';
import { Redis } from 'ioredis';

const COMMAND = fileURLToPath(new URL('../../packages/cli/bin/syncline.js', import.meta.url));
const WRITES = 2_000;
const BATCH = 20;

class Node {
  readonly id: number;
  readonly #args: readonly string[];
  #process: ChildProcess | undefined;
  #respPort = 0;

  constructor(id: number, directory: string, meshPorts: readonly number[]) {
    this.id = id;
    const peers = meshPorts.flatMap((port, at) => ['--peer', `${at + 1}@127.0.0.1:${port}`]);
    this.#args = [
      ...['serve', '--node-id', String(id), '--data-dir', join(directory, `node-${id}`)],
      ...['--http-port', '0', '--grpc-port', '0', '--resp-port', '0'],
      ...['--mesh-port', String(meshPorts[id - 1]), '--log-level', 'error', ...peers],
    ];
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, [COMMAND, ...this.#args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#process = child;
    for await (const line of createInterface({ input: child.stdout })) {
      const { listener, port } = JSON.parse(line) as { listener: string; port: number };
      if (listener === 'resp') this.#respPort = port;
      if (listener === 'http') return; // the last one to open
    }
    throw new Error(`node ${this.id} did not start`);
  }

  client(): Redis {
    return new Redis(this.#respPort, { retryStrategy: () => null });
  }

  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, 'exit');
  }
}

/** Adds its own members on one node, and records those that are acknowledged. */
async function write(node: Node, prefix: string, acknowledged: string[]): Promise<void> {
  const redis = node.client();
  redis.on('error', () => undefined); // one of the nodes is killed
  try {
    for (let n = 0; n < WRITES; n += BATCH) {
      const members = Array.from({ length: BATCH }, (_, at) => `${prefix}-${n + at}`);
      await Promise.all(members.map((member) => redis.sadd('members', member)));
      acknowledged.push(...members);
    }
  } catch {
    // The node is gone. What it had acknowledged must survive.
  } finally {
    redis.disconnect();
  }
}

async function digestOf(node: Node): Promise<string> {
  const redis = node.client();
  const digest = String(await redis.call('SYNCLINE.DIGEST'));
  redis.disconnect();
  return digest;
}

async function whenEqual(nodes: readonly Node[]): Promise<void> {
  for (;;) {
    const digests = await Promise.all(nodes.map(digestOf));
    if (new Set(digests).size === 1) return;
    await sleep(50);
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

const directory = await mkdtemp(join(tmpdir(), 'syncline-cluster-'));
const meshPorts = await findFreePorts(3);
const nodes = [1, 2, 3].map((id) => new Node(id, directory, meshPorts));
const [one, two, three] = nodes as [Node, Node, Node];
try {
  await Promise.all(nodes.map((node) => node.start()));
  say('three nodes are up');
  const acknowledged: string[] = [];
  await Promise.all(nodes.map((node) => write(node, `a${node.id}`, acknowledged)));
  say(`${acknowledged.length} members written, a third on each node`);

  three.signal('SIGSTOP'); // to the others it looks like a broken network
  await Promise.all([write(one, 'b1', acknowledged), write(two, 'b2', acknowledged)]);
  three.signal('SIGCONT');
  say('node 3 was cut off while the other two kept writing');

  const beforeTheKill: string[] = [];
  const writing = write(two, 'c2', beforeTheKill);
  while (beforeTheKill.length < WRITES / 4) await sleep(1);
  await two.end('SIGKILL');
  await writing;
  acknowledged.push(...beforeTheKill);
  await write(one, 'c1', acknowledged);
  await two.start();
  say(`node 2 was killed while writing, after ${beforeTheKill.length} acknowledged adds`);

  const startedMs = performance.now();
  await whenEqual(nodes);
  say(
    `all three are equal again, ${Math.round(performance.now() - startedMs)} ms after the last start`,
  );
  for (const node of nodes) {
    const redis = node.client();
    const members = new Set(await redis.smembers('members'));
    const missing = acknowledged.filter((member) => !members.has(member));
    say(`  node ${node.id}: ${members.size} members, ${missing.length} acknowledged ones missing`);
    if (missing.length > 0) process.exitCode = 1;
    redis.disconnect();
  }
} finally {
  await Promise.all(nodes.map((node) => node.end('SIGTERM')));
  await rm(directory, { recursive: true, force: true });
}

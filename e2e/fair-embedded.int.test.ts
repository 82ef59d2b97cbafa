// The embedded store of a server: its state survives kill -9, decayed by the time in between, and a full disk
// only stops the writing.
import { mountSmallDisk } from '@syncline/testkit';
import { expect, test, vi } from 'vitest';
import { CliProcess } from './cli-process.js';
import { startCluster } from './cluster.js';
import { type FairFleet, startFleet, WAIT } from './fair-fleet.js';

/** The sets keep 8 MiB of it back, and a store that was full wants more than 4 MiB free before it writes again. */
const DISK_BYTES = 32 * 1024 * 1024;
const LEAK_PER_SECOND = 0.005;
const options = { policy: 'linear', leakPerSecond: LEAK_PER_SECOND, flushIntervalMs: 10 } as const;

function startOne(address: string): FairFleet {
  return startFleet(1, { via: 'grpc', address, decisionsPerSecond: 0, options });
}

async function probabilityOf(fleet: FairFleet, key: string): Promise<number> {
  return (await fleet.probabilities([key]))[0]?.[0] ?? 0;
}

/** The sum over all labels. */
async function metric(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line.startsWith(name));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

test('after kill -9 the cells are restored, decayed by the time in between', async () => {
  await using cluster = await startCluster({ nodes: 1 });
  const node = cluster.node(1);
  const learnedAtMs = performance.now();
  {
    await using fleet = startOne(node.url('grpc'));
    await fleet.connected();
    await fleet.instances[0]?.fail('noisy', 20);
    await vi.waitFor(async () => {
      expect((await fleet.statuses())[0]?.pendingCells).toBe(0);
      const writes = await metric(node.url('http'), 'syncline_fair_persist_seconds_count');
      expect(writes).toBeGreaterThan(0);
    }, WAIT);
  }
  const cells = await metric(node.url('http'), 'syncline_fair_cells');
  expect(cells).toBeGreaterThan(0);
  await node.kill();
  await node.start();
  await using newcomer = startOne(node.url('grpc'));
  await newcomer.connected();
  const probability = await probabilityOf(newcomer, 'noisy');
  const passedSeconds = (performance.now() - learnedAtMs) / 1_000;
  expect(probability).toBeLessThanOrEqual(0.8);
  expect(probability).toBeGreaterThan(0.8 - LEAK_PER_SECOND * (passedSeconds + 0.1));
  expect(await metric(node.url('http'), 'syncline_fair_cells')).toBe(cells);
});

test('on a full disk instances keep sharing, the failure is counted, and writing resumes', async (context) => {
  const disk = mountSmallDisk(DISK_BYTES);
  if ('reason' in disk) return context.skip(disk.reason);
  using _ = disk;
  const ports = ['--http-port', '0', '--grpc-port', '0', '--resp-port', '0', '--mesh-port', '0'];
  await using server = new CliProcess(['serve', '--data-dir', `${disk.path}/data`, ...ports]);
  const url = await server.url();
  const grpc = server.listeners().find(({ listener }) => listener === 'grpc');
  await using fleet = startFleet(2, {
    via: 'grpc',
    address: `127.0.0.1:${grpc?.port}`,
    decisionsPerSecond: 1_000,
    options,
  });
  await fleet.connected();
  await disk.fill(0);
  await vi.waitFor(
    async () => expect(await metric(url, 'syncline_fair_store_errors_total')).toBeGreaterThan(0),
    WAIT,
  );
  const [key = ''] = await fleet.ownKeys(1);
  await fleet.instances[0]?.fail(key, 10);
  await vi.waitFor(async () => {
    for (const [held = 0] of await fleet.probabilities([key])) expect(held).toBeGreaterThan(0.3);
  }, WAIT);
  await disk.free();
  const persisted = await metric(url, 'syncline_fair_persist_seconds_count');
  await vi.waitFor(
    async () =>
      expect(await metric(url, 'syncline_fair_persist_seconds_count')).toBeGreaterThan(persisted),
    WAIT,
  );
  await fleet.figures('full disk', 1_000);
});

// kill -9 of the state service while instances are under load, and its return on the same data and port.
//
// FAIR_INSTANCES (3), FAIR_OUTAGE_MS (0: until the outage gain is on) and FAIR_KILLS (2) make it larger;
// FAIR_FIGURES=1 prints what was measured.
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterNode } from '@syncline/testkit';
import { expect, test, vi } from 'vitest';
import { startCluster } from './cluster.js';
import { COUNTING_OPTIONS, FailureReports } from './fair-failure-reports.js';
import {
  largestViews,
  lastConnectedMs,
  placeOf,
  startFleet,
  tell,
  WAIT,
  whenItAccepts,
} from './fair-fleet.js';

const INSTANCES = Number(process.env['FAIR_INSTANCES'] ?? 3);
const OUTAGE_MS = Number(process.env['FAIR_OUTAGE_MS'] ?? 0);
const KILLS = Number(process.env['FAIR_KILLS'] ?? 2);
const DECISIONS_PER_SECOND = 1_000;
const LAMBDA_PER_SECOND = 0.01;
/** Usually below one second; a busy machine must not fail the test. */
const BACK_MS_MAX = 15_000;

/** Restarts a killed service. Resolves to the wall time at which it accepted connections. */
async function bringBack(node: ClusterNode): Promise<number> {
  const { port } = node.address('grpc');
  const [returnedAtMs] = await Promise.all([whenItAccepts(port), node.start()]);
  return returnedAtMs;
}

/** Cells of the service by their place, in the structure of one seed. */
async function cellsOf(node: ClusterNode, seed: number): Promise<ReadonlyMap<string, number>> {
  const answer = await fetch(`${node.url('http')}/api/fair?tracker=api&limit=1000`);
  const { namespaces } = (await answer.json()) as {
    readonly namespaces: readonly {
      readonly highest: readonly {
        readonly seed: string;
        readonly row: number;
        readonly column: number;
        readonly probability: number;
      }[];
    }[];
  };
  const highest = namespaces.flatMap((namespace) => namespace.highest);
  return new Map(
    highest
      .filter((cell) => cell.seed === String(seed))
      .map(({ row, column, probability }) => [
        placeOf({ level: row, column, probability }),
        probability,
      ]),
  );
}

test('F8 F14 decisions continue, all reconnect soon, and no cell is below the largest view', async () => {
  await using cluster = await startCluster({ nodes: 1 });
  const node = cluster.node(1);
  await using fleet = startFleet(INSTANCES, {
    via: 'grpc',
    address: node.url('grpc'),
    decisionsPerSecond: DECISIONS_PER_SECOND,
    options: { policy: 'exponential', lambdaPerSecond: LAMBDA_PER_SECOND },
  });
  const epoch = await fleet.connected();
  await fleet.counted();
  const keys = await fleet.ownKeys(INSTANCES);
  await Promise.all(fleet.instances.map((each, index) => each.fail(keys[index] ?? '', 5)));
  await vi.waitFor(async () => {
    for (const held of await fleet.probabilities(keys))
      for (const probability of held) expect(probability).toBeGreaterThan(0.15);
  }, WAIT);
  await fleet.figures('start', DECISIONS_PER_SECOND);
  await sleep(1_000);
  await fleet.figures('before', DECISIONS_PER_SECOND);

  await node.kill();
  await fleet.alone();
  // Each gets different outcomes, so that the largest views belong to different instances.
  for (const [turn, instance] of fleet.instances.entries())
    for (const [index, key] of keys.entries())
      await instance.fail(key, ((turn + index) % INSTANCES) + 1, 0.1);
  await sleep(OUTAGE_MS);
  await fleet.figures('without the service', DECISIONS_PER_SECOND);
  const seenAtMs = performance.now();
  const { seed, largest } = await largestViews(fleet, keys);

  const returnedAtMs = await bringBack(node);
  expect(await fleet.connected()).not.toBe(epoch);
  const backMs = await lastConnectedMs(fleet, returnedAtMs);
  const cells = await cellsOf(node, seed);
  const decay = Math.exp((-LAMBDA_PER_SECOND * (performance.now() - seenAtMs)) / 1_000);
  tell(`back: the last of ${INSTANCES} after ${backMs} ms; ${largest.size} cells compared`);
  expect(backMs).toBeLessThan(BACK_MS_MAX);
  expect(largest.size).toBe(3 * INSTANCES);
  for (const [place, probability] of largest) {
    expect(cells.get(place)).toBeGreaterThanOrEqual(probability * decay - 1e-9);
    expect(cells.get(place)).toBeLessThanOrEqual(probability); // nothing was added to it a second time
  }
  await fleet.figures('afterwards', DECISIONS_PER_SECOND);
});

test('F5 what instances report while the service is killed again and again counts once', async () => {
  await using cluster = await startCluster({ nodes: 1 });
  const node = cluster.node(1);
  await using fleet = startFleet(INSTANCES, {
    via: 'grpc',
    address: node.url('grpc'),
    decisionsPerSecond: 0,
    options: COUNTING_OPTIONS,
  });
  const epochs = new Set([await fleet.connected()]);
  const keys = await fleet.ownKeys(INSTANCES);
  await using reports = new FailureReports(fleet, keys);
  for (let kill = 0; kill < KILLS; kill += 1) {
    await node.kill();
    await bringBack(node);
    epochs.add(await fleet.connected());
  }
  await reports.stop();
  expect(epochs.size).toBe(KILLS + 1);
  await vi.waitFor(async () => reports.expectHeldBy(fleet, await fleet.probabilities(keys)), WAIT);
  tell(`reported: ${reports.counts.join(', ')}, each counted once over ${KILLS} kills`);
});

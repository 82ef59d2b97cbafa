// Two servers over one Redis: clients of both see one state, and those of a killed server continue with the
// other. FAIR_FIGURES=1 prints what was measured.
import { type ClusterNode, startFaultProxy, startRedis } from '@syncline/testkit';
import { expect, test, vi } from 'vitest';
import { startCluster } from './cluster.js';
import { COUNTING_OPTIONS, FailureReports } from './fair-failure-reports.js';
import { FairFleet, lastConnectedMs, startFleet, tell, WAIT } from './fair-fleet.js';

/** Usually below one second; a busy machine must not fail the test. */
const BACK_MS_MAX = 15_000;

function startAt(address: string): FairFleet {
  return startFleet(2, {
    via: 'grpc',
    address,
    decisionsPerSecond: 0,
    options: COUNTING_OPTIONS,
  });
}

test('F5 clients of two replicas see one state, and move when theirs is killed', async () => {
  await using redis = await startRedis();
  const env = { SYNCLINE_FAIR_STORE: 'redis', SYNCLINE_FAIR_REDIS_URL: redis.url };
  await using cluster = await startCluster({ nodes: 2, env });
  const [first, second] = cluster.nodes as readonly [ClusterNode, ClusterNode];
  await using proxy = await startFaultProxy({ target: first.address('grpc') });
  await using movers = startAt(`${proxy.address.host}:${proxy.address.port}`);
  await using stayers = startAt(second.url('grpc'));
  const fleet = new FairFleet([...movers.instances, ...stayers.instances]);
  const epoch = await fleet.connected();
  await fleet.counted();
  const keys = await fleet.ownKeys(4);
  await using reports = new FailureReports(fleet, keys);
  const early = reports.probabilities();
  await vi.waitFor(async () => {
    for (const held of await fleet.probabilities(keys))
      for (const [index, each] of held.entries()) expect(each).toBeGreaterThan(early[index] ?? 0);
  }, WAIT);

  await first.kill();
  proxy.setTarget(second.address('grpc'));
  const movedAtMs = Date.now();
  await vi.waitFor(async () => {
    for (const { connectedAtMs } of await movers.statuses())
      expect(connectedAtMs).toBeGreaterThan(movedAtMs);
  }, WAIT);
  expect(await fleet.connected()).toBe(epoch); // it lives in Redis
  const backMs = await lastConnectedMs(movers, movedAtMs);
  expect(backMs).toBeLessThan(BACK_MS_MAX);
  await reports.stop();
  await vi.waitFor(async () => reports.expectHeldBy(fleet, await fleet.probabilities(keys)), WAIT);
  tell(
    `moved to the other replica after ${backMs} ms; reports ${reports.counts.join(', ')}, once each`,
  );
});

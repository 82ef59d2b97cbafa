// Redis is stopped, killed, emptied and started again while instances share through it.
//
// FAIR_INSTANCES (3) and FAIR_OUTAGE_MS (0: until the outage gain is on) make it larger; FAIR_FIGURES=1
// prints what was measured.
import { setTimeout as sleep } from 'node:timers/promises';
import { type RedisServer, startRedis } from '@syncline/testkit';
import { Redis } from 'ioredis';
import { expect, test, vi } from 'vitest';
import { COUNTING_OPTIONS, FailureReports } from './fair-failure-reports.js';
import {
  type FairFleet,
  largestViews,
  lastConnectedMs,
  startFleet,
  tell,
  WAIT,
} from './fair-fleet.js';

const INSTANCES = Number(process.env['FAIR_INSTANCES'] ?? 3);
const OUTAGE_MS = Number(process.env['FAIR_OUTAGE_MS'] ?? 0);
const DECISIONS_PER_SECOND = 1_000;
const LAMBDA_PER_SECOND = 0.01;
/** Usually below one second; a busy machine must not fail the test. */
const BACK_MS_MAX = 15_000;

function startOver(redis: RedisServer, settings: Partial<Parameters<typeof startFleet>[1]>) {
  const defaults = {
    via: 'redis',
    address: redis.url,
    decisionsPerSecond: 0,
    options: {},
  } as const;
  return startFleet(INSTANCES, { ...defaults, ...settings });
}

test('F8 F14 decisions continue without Redis, and an empty one receives the largest views', async () => {
  await using redis = await startRedis();
  const options = { policy: 'exponential', lambdaPerSecond: LAMBDA_PER_SECOND } as const;
  await using fleet = startOver(redis, { decisionsPerSecond: DECISIONS_PER_SECOND, options });
  const epoch = await fleet.connected();
  await fleet.counted();
  const keys = await fleet.ownKeys(INSTANCES);
  await fleet.figures('start', DECISIONS_PER_SECOND);
  await sleep(1_000);
  await fleet.figures('before', DECISIONS_PER_SECOND);

  await redis.kill();
  await fleet.alone();
  for (const [turn, instance] of fleet.instances.entries())
    for (const [index, key] of keys.entries())
      await instance.fail(key, ((turn + index) % INSTANCES) + 1, 0.1);
  await sleep(OUTAGE_MS);
  await fleet.figures('without Redis', DECISIONS_PER_SECOND);
  const seenAtMs = performance.now();
  const { largest } = await largestViews(fleet, keys);

  await redis.start();
  const returnedAtMs = Date.now();
  expect(await fleet.connected()).not.toBe(epoch);
  const backMs = await lastConnectedMs(fleet, returnedAtMs);
  tell(`back: the last of ${INSTANCES} after ${backMs} ms; ${largest.size} cells compared`);
  expect(backMs).toBeLessThan(BACK_MS_MAX);
  await using newcomer = startFleet(1, {
    via: 'redis',
    address: redis.url,
    decisionsPerSecond: 0,
    options,
  });
  await newcomer.connected();
  const { largest: cells } = await largestViews(newcomer, keys);
  const decay = Math.exp((-LAMBDA_PER_SECOND * (performance.now() - seenAtMs)) / 1_000);
  for (const [place, probability] of largest) {
    expect(cells.get(place)).toBeGreaterThanOrEqual(probability * decay - 1e-9);
    expect(cells.get(place)).toBeLessThanOrEqual(probability); // nothing was added to it a second time
  }
  await fleet.figures('afterwards', DECISIONS_PER_SECOND);
});

test('F5 what instances report counts once, whatever happens to Redis', async () => {
  await using redis = await startRedis('--appendonly', 'yes', '--appendfsync', 'always');
  const admin = new Redis(redis.url);
  admin.on('error', () => undefined); // it is sometimes down
  await using fleet = startOver(redis, {
    options: COUNTING_OPTIONS,
  });
  const epoch = await fleet.connected();
  const keys = await fleet.ownKeys(INSTANCES);
  await using reports = new FailureReports(fleet, keys);

  await admin.script('FLUSH');
  await expectProgress(fleet, reports, 'SCRIPT FLUSH');
  redis.freeze();
  await disconnected(fleet);
  redis.thaw();
  await expectProgress(fleet, reports, 'SIGSTOP and SIGCONT');
  expect(await fleet.connected()).toBe(epoch);
  await redis.kill();
  await disconnected(fleet);
  await redis.start();
  await expectProgress(fleet, reports, 'kill -9 with its data on disk');
  expect(await fleet.connected()).toBe(epoch);
  await reports.stop();
  await vi.waitFor(async () => reports.expectHeldBy(fleet, await fleet.probabilities(keys)), WAIT);
  tell(`reported: ${reports.counts.join(', ')}, each counted once`);
  admin.disconnect();
});

test('F14 after FLUSHALL the epoch is new, and the shared state is restored', async () => {
  await using redis = await startRedis();
  const admin = new Redis(redis.url);
  await using fleet = startOver(redis, { options: COUNTING_OPTIONS });
  const epoch = await fleet.connected();
  const keys = await fleet.ownKeys(INSTANCES);
  for (const [index, instance] of fleet.instances.entries())
    await instance.fail(keys[index] ?? '', 5);
  await vi.waitFor(async () => {
    for (const held of await fleet.probabilities(keys))
      for (const probability of held) expect(probability).toBeCloseTo(0.2, 9);
  }, WAIT);
  await using reports = new FailureReports(fleet, keys);
  await admin.flushall();
  await vi.waitFor(async () => {
    for (const status of await fleet.statuses()) expect(status.epoch).not.toBe(epoch);
  }, WAIT);
  await fleet.connected();
  await reports.stop();
  await vi.waitFor(async () => {
    for (const { pendingCells } of await fleet.statuses()) expect(pendingCells).toBe(0);
  }, WAIT);
  const reported = reports.probabilities();
  for (const held of await fleet.probabilities(keys))
    for (const [index, probability] of held.entries()) {
      expect(probability).toBeGreaterThanOrEqual(0.2 - 1e-9); // what was reported meanwhile may be lost
      expect(probability).toBeLessThanOrEqual(0.2 + (reported[index] ?? 0) + 1e-9); // but not counted twice
    }
  admin.disconnect();
});

async function disconnected(fleet: FairFleet): Promise<void> {
  await vi.waitFor(async () => {
    for (const { connected } of await fleet.statuses()) expect(connected).toBe(false);
  }, WAIT);
}

/** All are connected, and what is reported from now on reaches all of them. */
async function expectProgress(
  fleet: FairFleet,
  reports: FailureReports,
  what: string,
): Promise<void> {
  await fleet.connected();
  const before = reports.probabilities();
  await vi.waitFor(async () => {
    for (const held of await fleet.probabilities(reports.keys))
      for (const [index, probability] of held.entries())
        expect(probability, what).toBeGreaterThan(before[index] ?? 0);
  }, WAIT);
}

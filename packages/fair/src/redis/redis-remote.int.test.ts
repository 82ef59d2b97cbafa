// Trackers that share their state through a real Redis, and what they do when it goes down and comes back.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import {
  type Clock,
  createSystemClock,
  type Logger,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import { makeCertificates, type RedisServer, startRedis } from '@syncline/testkit';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { FairTracker } from '../fair-tracker.js';
import { createFairTracker } from '../tracker.js';
import { type RedisRemoteOptions, redisRemote } from './redis-remote.js';

const secret = 'a secret of more than sixteen bytes';
const WAIT = { timeout: 60_000, interval: 10 };

let redis: RedisServer;
let admin: Redis;
let trackers: FairTracker[] = [];

beforeAll(async () => {
  redis = await startRedis();
  admin = new Redis(redis.url);
  admin.on('error', () => {});
});
beforeEach(() => admin.flushall());
afterEach(async () => {
  await Promise.all(trackers.map((tracker) => tracker.close({ timeoutMs: 100 })));
  trackers = [];
});
afterAll(async () => {
  admin.disconnect();
  await redis[Symbol.asyncDispose]();
});

function startTracker(
  options: Partial<RedisRemoteOptions> = {},
  logger: Logger = silentLogger,
): FairTracker {
  const tracker = createFairTracker(
    {
      remote: redisRemote({ url: redis.url, tracker: 'api', ...options }),
      secret,
      flushIntervalMs: 20,
      policy: 'linear',
      leakPerSecond: 0,
    },
    { logger, metrics: silentMetrics },
  );
  trackers.push(tracker);
  return tracker;
}

const isConnected = (tracker: FairTracker) =>
  vi.waitFor(() => expect(tracker.status().connected).toBe(true), WAIT);

/** Both structures get outcomes, but decisions come from the older one. */
const probability = (tracker: FairTracker, key: string) => tracker.peek(key).probability;

test('outcomes reported to one instance reach the others', async () => {
  const [first, second] = [startTracker(), startTracker()];
  await Promise.all([isConnected(first), isConnected(second)]);
  for (let count = 0; count < 5; count += 1) first.report('tenant-1', 'failure');
  for (let count = 0; count < 5; count += 1) second.report('tenant-1', 'failure');
  await vi.waitFor(() => {
    expect(probability(first, 'tenant-1')).toBeCloseTo(0.4, 9);
    expect(probability(second, 'tenant-1')).toBeCloseTo(0.4, 9);
  }, WAIT);
  await vi.waitFor(() => expect(first.status().activeInstances).toBe(2), WAIT);
  expect(first.status().epoch).toBe(second.status().epoch);
});

test('a new instance starts from the stored state', async () => {
  const first = startTracker();
  await isConnected(first);
  for (let count = 0; count < 10; count += 1) first.report('tenant-1', 'failure');
  await vi.waitFor(() => expect(first.status().pendingCells).toBe(0), WAIT);
  const second = startTracker();
  await isConnected(second);
  expect(probability(second, 'tenant-1')).toBeCloseTo(0.4, 9);
  expect(Number(await admin.get('v1:{api:meta}:active'))).toBe(second.status().seeds.secondary);
});

test('polling instances exchange changes too', async () => {
  const [first, second] = [
    startTracker({ fanOut: 'poll', pollIntervalMs: 30 }),
    startTracker({ fanOut: 'poll', pollIntervalMs: 30 }),
  ];
  await Promise.all([isConnected(first), isConnected(second)]);
  for (let count = 0; count < 5; count += 1) first.report('tenant-1', 'failure');
  await vi.waitFor(() => expect(probability(second, 'tenant-1')).toBeCloseTo(0.2, 9), WAIT);
});

test('after FLUSHALL the epoch is new and the views of the instances are merged', async () => {
  const [first, second] = [startTracker(), startTracker()];
  await Promise.all([isConnected(first), isConnected(second)]);
  for (let count = 0; count < 5; count += 1) first.report('tenant-1', 'failure');
  await vi.waitFor(() => expect(probability(second, 'tenant-1')).toBeCloseTo(0.2, 9), WAIT);
  const { epoch } = first.status();
  await admin.flushall();
  first.report('tenant-2', 'failure');
  await vi.waitFor(() => {
    expect(first.status().epoch).not.toBe(epoch);
    expect(first.status().connected && second.status().connected).toBe(true);
    expect(second.status().epoch).toBe(first.status().epoch);
  }, WAIT);
  await vi.waitFor(() => expect(probability(second, 'tenant-2')).toBeCloseTo(0.04, 9), WAIT);
  expect(probability(first, 'tenant-1')).toBeCloseTo(0.2, 9);
});

test('while Redis is down decisions continue, and sharing resumes when it is back', async () => {
  const [first, second] = [startTracker(), startTracker()];
  await Promise.all([isConnected(first), isConnected(second)]);
  for (let count = 0; count < 5; count += 1) first.report('tenant-1', 'failure');
  await vi.waitFor(() => expect(probability(second, 'tenant-1')).toBeCloseTo(0.2, 9), WAIT);
  await redis.kill();
  await vi.waitFor(() => expect(first.status().connected).toBe(false), WAIT);
  expect(first.register('tenant-9').throttled).toBe(false);
  second.report('tenant-3', 'failure');
  await redis.start();
  await Promise.all([isConnected(first), isConnected(second)]);
  await vi.waitFor(() => expect(probability(first, 'tenant-3')).toBeGreaterThan(0.03), WAIT);
  expect(probability(first, 'tenant-1')).toBeCloseTo(0.2, 9);
});

test('an instance whose clock is off by more than a tenth of a window gets a warning', async () => {
  const system = createSystemClock();
  const warn = vi.fn();
  const logger: Logger = { ...silentLogger, warn, child: () => logger };
  const clock: Clock = {
    nowMs: () => system.nowMs() + 40_000,
    monotonicMs: () => system.monotonicMs(),
    sleep: (ms, signal) => system.sleep(ms, signal),
    setTimer: (ms, callback, options) => system.setTimer(ms, callback, options),
    defer: (callback) => system.defer(callback),
  };
  const remote = redisRemote({ url: redis.url, tracker: 'api' });
  const tracker = createFairTracker({ remote, secret }, { clock, logger, metrics: silentMetrics });
  trackers.push(tracker);
  await isConnected(tracker);
  const [, fields] = warn.mock.calls.find(([msg]) => String(msg).includes('clock')) ?? [];
  expect(fields.skewMs).toBeLessThan(-39_000);
});

test('a cold instance reads the active seed, and warns when its own clock is behind it', async () => {
  const first = startTracker();
  await isConnected(first);
  const { secondary } = first.status().seeds;
  const ahead = secondary + 2 * 300_000;
  await admin.set('v1:{api:meta}:active', String(ahead));
  const warn = vi.fn();
  const logger: Logger = { ...silentLogger, warn, child: () => logger };
  const cold = createFairTracker(
    { remote: redisRemote({ url: redis.url, tracker: 'api' }), secret, leakPerSecond: 0 },
    { logger, metrics: silentMetrics },
  );
  trackers.push(cold);
  await isConnected(cold);
  const [, fields] = warn.mock.calls.find(([msg]) => String(msg).includes('later window')) ?? [];
  expect(fields).toMatchObject({ tracker: 'api', activeSeed: String(ahead) });
  expect(fields.behindMs).toBeGreaterThan(300_000);
});

test('another configuration under the same name is refused', async () => {
  const first = startTracker();
  await isConnected(first);
  const warn = vi.fn();
  const logger: Logger = { ...silentLogger, warn, error: warn, child: () => logger };
  const other = createFairTracker(
    { remote: redisRemote({ url: redis.url, tracker: 'api' }), secret, policy: 'exponential' },
    { logger, metrics: silentMetrics },
  );
  trackers.push(other);
  await vi.waitFor(() => expect(warn).toHaveBeenCalled(), WAIT);
  expect(other.status().connected).toBe(false);
  expect(JSON.stringify(warn.mock.calls)).toContain('policy');
});

test('a certificate that is not trusted is a warning that says what to set', async () => {
  await using certificates = await makeCertificates();
  const server = createServer({ ...certificates.server }).on('tlsClientError', () => {});
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const warn = vi.fn();
  const logger: Logger = { ...silentLogger, warn, child: () => logger };
  startTracker({ url: `rediss://127.0.0.1:${(server.address() as AddressInfo).port}` }, logger);
  const error = expect.stringMatching(
    /^Redis is unreachable.*: its certificate is not trusted .*Set tls\.ca/,
  );
  await vi.waitFor(
    () => expect(warn).toHaveBeenCalledWith(expect.anything(), expect.objectContaining({ error })),
    WAIT,
  );
  server.close();
});

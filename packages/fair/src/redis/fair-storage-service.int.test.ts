import { silentLogger } from '@syncline/kernel';
import { type RedisServer, startRedis } from '@syncline/testkit';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  createFairStorageService,
  type FairStorageOptions,
  type FairStorageService,
} from './fair-storage-service.js';
import type { RespBucket } from './storage-buckets.js';

const SEED = 1_700_000_100_000n;
const bucket = { rowId: 0, colId: 3, deltaProb: 0.25, lastUpdateTimeMs: 1_000 };

let redis: RedisServer;
let admin: Redis;
let services: FairStorageService[] = [];

beforeAll(async () => {
  redis = await startRedis();
  admin = new Redis(redis.url);
});
beforeEach(() => admin.flushall());
afterEach(async () => {
  await Promise.all(services.map((service) => service.close()));
  services = [];
});
afterAll(async () => {
  admin.disconnect();
  await redis[Symbol.asyncDispose]();
});

function open(options: Partial<FairStorageOptions> = {}): FairStorageService {
  const service = createFairStorageService(
    { url: redis.url, ...options },
    { logger: silentLogger },
  );
  services.push(service);
  return service;
}

/** Receives until a cell has this value. */
async function received(service: FairStorageService, prob: number): Promise<RespBucket> {
  const signal = AbortSignal.timeout(60_000);
  for (;;) {
    for (const response of await service.recv(signal))
      if (response.updates.some((update) => update.prob === prob)) return response;
  }
}

test('an update is committed, clamped, and received here and elsewhere', async () => {
  const [first, second] = [open(), open()];
  second.request(SEED);
  expect(await second.recv()).toEqual([
    { seed: SEED, startUtcNs: 1_700_000_100_000_000_000n, updates: [] },
  ]);
  const many = Array.from({ length: 100 }, () => ({ ...bucket, deltaProb: 0.04 }));
  await first.update([{ seed: SEED, updates: many }]);
  const expected = [{ rowId: 0, colId: 3, prob: 1, lastUpdateTimeMs: 1_000 }];
  expect((await received(first, 1)).updates).toEqual(expected);
  expect((await received(second, 1)).updates).toEqual(expected);
  expect(await admin.hget(`v1:{${SEED}}:0`, '3:prob')).toBe('1');
});

test('updates of one turn share a batch', async () => {
  const service = open();
  const calls = Array.from({ length: 20 }, () =>
    service.update([{ seed: SEED, updates: [{ ...bucket, deltaProb: 1 / 64 }] }]),
  );
  await Promise.all(calls);
  expect(await admin.hget(`v1:{${SEED}}:0`, '3:prob')).toBe('0.3125');
  expect(await admin.hget(`v1:{${SEED}}:meta`, 'n')).toBe('1');
});

test('a request of a seed that exists brings all its cells; a named tracker keeps its own', async () => {
  const decay = { policy: 'linear', ratePerSecond: 0 } as const;
  const [plain, named] = [open(), open({ tracker: { name: 'api', decay } })];
  await plain.update([{ seed: SEED, updates: [bucket, { ...bucket, colId: 4 }] }]);
  await named.update([{ seed: SEED, updates: [{ ...bucket, deltaProb: 0.5 }] }]);
  const late = open();
  late.request(SEED);
  late.request(SEED);
  const [response] = await late.recv();
  expect(response?.updates.map(({ colId, prob }) => [colId, prob])).toEqual([
    [3, 0.25],
    [4, 0.25],
  ]);
  expect(await admin.hget(`v1:{api:${SEED}}:0`, '3:prob')).toBe('0.5');
});

test('invalid updates are refused as a whole, and so are those that are too large', async () => {
  const service = open({ cellsMax: 2 });
  const wrong = { ...bucket, lo: 0.5, hi: 0.25 };
  await expect(service.update([{ seed: SEED, updates: [bucket, wrong] }])).rejects.toMatchObject({
    code: 'invalid-argument',
    details: { field: 'updates[0].updates[1].hi' },
  });
  const three = [3, 4, 5].map((colId) => ({ ...bucket, colId }));
  await expect(service.update([{ seed: SEED, updates: three }])).rejects.toMatchObject({
    code: 'overloaded',
    outcome: 'not-applied',
  });
  await service.update([{ seed: SEED, updates: [bucket] }]);
  expect(await admin.hgetall(`v1:{${SEED}}:0`)).toEqual({ '3:prob': '0.25', '3:time': '1000' });
});

test('recv allows one caller at a time, and ends with its signal or with the service', async () => {
  const service = open();
  const controller = new AbortController();
  const waiting = service.recv(controller.signal);
  await expect(service.recv()).rejects.toMatchObject({ code: 'conflict' });
  controller.abort();
  await expect(waiting).rejects.toMatchObject({ code: 'aborted' });
  const last = service.recv();
  const ended = expect(last).rejects.toMatchObject({ code: 'closed' });
  await service.close();
  await ended;
  await expect(service.update([])).rejects.toMatchObject({ code: 'closed' });
});

test('while Redis does not answer the outcome is unknown, then not applied; then it is received again', async () => {
  const service = open();
  await service.update([{ seed: SEED, updates: [bucket] }]);
  await received(service, 0.25);
  redis.freeze();
  const update = () => service.update([{ seed: SEED, updates: [bucket] }]);
  await expect(update()).rejects.toMatchObject({ outcome: 'unknown' });
  await expect(update()).rejects.toMatchObject({ code: 'unavailable', outcome: 'not-applied' });
  redis.thaw();
  const [response] = await service.recv(AbortSignal.timeout(60_000));
  expect(response?.seed).toBe(SEED);
  await update();
});

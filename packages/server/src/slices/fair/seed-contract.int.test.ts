// The original contract over real gRPC, with a client generated from it alone.
import { fromJson, toBinary } from '@bufbuild/protobuf';
import { FairSyncRequestSchema } from '@syncline/protocol/fair-state';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { deltaUpdate, SeedStream, stateRequest } from '../../testing/seed-client.js';
import { startTestServer, type TestServer } from '../../testing/test-server.js';
import { until } from '../../testing/until.js';
import { createFairSlice } from './fair-slice.js';

let server: TestServer;
let seedsCount = 40;
let seed = '';

beforeAll(async () => {
  server = await startTestServer([createFairSlice()]);
});
afterAll(() => server.stop());
beforeEach(() => {
  seedsCount += 1;
  seed = String(seedsCount);
});

const connect = (): SeedStream => new SeedStream(server.port('grpc'));

test('F12 deltas are summed and clamped to [0, 1], times only increase, and all connected clients receive them', async () => {
  using one = connect();
  using silent = connect();
  one.send(stateRequest(seed));
  silent.send(stateRequest(seed));
  await until(() => one.responses.length + silent.responses.length === 2, 'both answers');
  expect(one.responses[0]?.buckets ?? []).toEqual([]);
  one.send(
    deltaUpdate(
      seed,
      { row_id: 1, col_id: 2, delta_prob: 0.75, last_update_time_ms: 50 },
      { row_id: 1, col_id: 2, delta_prob: 0.75, last_update_time_ms: 20 },
      { row_id: 1, col_id: 2, delta_prob: -0.25, last_update_time_ms: 40 },
      { row_id: 7, col_id: '9007199254740991', delta_prob: -3 },
    ),
  );
  for (const stream of [one, silent]) {
    await until(() => stream.responses.length === 2, 'the broadcast');
    const [first, second] = stream.responses[1]?.buckets ?? [];
    expect(stream.responses[1]?.seed).toBe(seed);
    expect(first).toEqual({ row_id: '1', col_id: '2', prob: 0.75, last_update_time_ms: '50' });
    expect(second).toMatchObject({ row_id: '7', col_id: '9007199254740991' });
    expect(second?.prob ?? 0).toBe(0);
    expect(stream.unknownBytes).toBe(0);
  }
});

test('F12 a repeated delta counts twice, and nothing decays', async () => {
  using stream = connect();
  const update = deltaUpdate(seed, { row_id: 0, col_id: 0, delta_prob: 0.25 });
  stream.send(update);
  stream.send(update);
  await until(() => stream.buckets(seed)['0/0'] === 0.5, 'both');
  stream.send(stateRequest(seed));
  const before = stream.responses.length;
  await until(() => stream.responses.length > before, 'the answer');
  expect(stream.responses.at(-1)?.buckets?.[0]?.prob).toBe(0.5);
});

test('F12 a client that connects later requests the whole state and gets it, including cells that are back at zero', async () => {
  using early = connect();
  const places = Array.from({ length: 300 }, (_, at) => ({ row_id: at % 3, col_id: at }));
  early.send(deltaUpdate(seed, ...places.map((place) => ({ ...place, delta_prob: 0.5 }))));
  early.send(deltaUpdate(seed, { row_id: 0, col_id: 0, delta_prob: -1 }));
  await until(() => early.buckets(seed)['0/0'] === 0, 'the zero');
  using late = connect();
  late.send(stateRequest(seed));
  await until(() => late.responses.length > 0, 'the state');
  expect(Object.keys(late.buckets(seed))).toHaveLength(300);
  expect(late.buckets(seed)['0/0']).toBe(0);
  expect(late.buckets(seed)['2/299']).toBe(0.5);
  expect(late.unknownBytes).toBe(0);
});

test('F12 a state of more than 8192 buckets is sent in several messages', async () => {
  using stream = connect();
  for (const part of [0, 1, 2]) {
    const deltas = Array.from({ length: 4_000 }, (_, at) => ({
      row_id: part,
      col_id: at,
      delta_prob: 0.5,
    }));
    stream.send(deltaUpdate(seed, ...deltas));
  }
  await until(() => Object.keys(stream.buckets(seed)).length === 12_000, 'the broadcasts');
  using late = connect();
  late.send(stateRequest(seed));
  await until(() => Object.keys(late.buckets(seed)).length === 12_000, 'the whole state');
  for (const { buckets = [] } of late.responses) expect(buckets.length).toBeLessThanOrEqual(8_192);
  expect(late.unknownBytes).toBe(0);
});

test('F12 a client that half-closes its stream is disconnected cleanly', async () => {
  using stream = connect();
  stream.send(deltaUpdate(seed, { row_id: 0, col_id: 0, delta_prob: 0.5 }));
  await until(() => stream.responses.length === 1, 'the broadcast');
  stream.call.end();
  await until(() => stream.isEnded, 'the end');
  expect(stream.error).toBeUndefined();
});

test('the client of these tests detects a field that is not in the contract', async () => {
  using stream = connect();
  const shape = { levels: 3, columns: 10, windowMs: '300000', keyCheck: '1' };
  const rule = { policy: 1, ratePerSecond: 0.01, hash: 1, increment: 0.04, decrement: 0.00004 };
  const hello = { tracker: 'api', clientId: 'one', config: { ...shape, ...rule } };
  stream.send(toBinary(FairSyncRequestSchema, fromJson(FairSyncRequestSchema, { hello })));
  await until(() => stream.responses.length === 1, 'the welcome');
  expect(stream.unknownBytes).toBeGreaterThan(0);
});

test('a stop ends streams promptly, with UNAVAILABLE', async () => {
  const other = await startTestServer([createFairSlice()]);
  using stream = new SeedStream(other.port('grpc'));
  stream.send(stateRequest('1'));
  await until(() => stream.responses.length === 1, 'the answer');
  const report = await other.stop();
  expect(report.inTime).toBe(true);
  expect((await stream.refusal()).code).toBe(14);
});

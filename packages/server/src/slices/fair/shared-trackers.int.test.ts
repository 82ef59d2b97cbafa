// Trackers in this process share state through a real server: over gRPC, with TLS and a token, across a
// restart, and alongside a client that does not read.
import { createFairTracker, type FairTracker } from '@syncline/fair';
import { type GrpcRemoteOptions, grpcRemote } from '@syncline/fair/grpc';
import {
  createSystemClock,
  createSystemRandom,
  type Logger,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import { makeCertificates, makeTempDirectory } from '@syncline/testkit';
import { expect, test } from 'vitest';
import { Secret } from '../../config/secret.js';
import { deltaUpdate, SeedStream, stateRequest } from '../../testing/seed-client.js';
import { startTestServer, type TestServer } from '../../testing/test-server.js';
import { until } from '../../testing/until.js';
import { createFairSlice } from './fair-slice.js';

const secret = '0123456789abcdef';
const deps = {
  clock: createSystemClock(),
  random: createSystemRandom(),
  logger: silentLogger,
  metrics: silentMetrics,
};

function track(
  port: number,
  remote: Partial<GrpcRemoteOptions> = {},
  logger: Logger = silentLogger,
): FairTracker {
  const address = `127.0.0.1:${port}`;
  const shared = grpcRemote({ address, tracker: 'api', ...remote });
  return createFairTracker({ remote: shared, secret, flushIntervalMs: 5 }, { ...deps, logger });
}

const isConnected = (tracker: FairTracker) => () => tracker.status().connected;
const probability = (tracker: FairTracker) => tracker.peek('noisy').probability;

function fail(tracker: FairTracker, times: number): void {
  for (let time = 0; time < times; time += 1) tracker.report('noisy', 'failure');
}

async function factsOf(server: TestServer): Promise<{
  readonly namespaces: readonly {
    readonly tracker: string;
    readonly instances: number;
    readonly streamsBehind: number;
    readonly highest: readonly unknown[];
  }[];
}> {
  const answer = await fetch(`http://127.0.0.1:${server.port('http')}/api/fair?limit=2`);
  return (await answer.json()) as Awaited<ReturnType<typeof factsOf>>;
}

test('outcomes reported to one instance reach the other', async () => {
  await using server = await startTestServer([createFairSlice()]);
  await using one = track(server.port('grpc'));
  await using other = track(server.port('grpc'));
  await until(isConnected(one), 'the first');
  await until(isConnected(other), 'the second');
  fail(one, 20);
  await until(() => probability(other) > 0.7, 'the change');
  await until(() => one.status().pendingCells === 0, 'the acknowledgement');
  expect(probability(other)).toBeCloseTo(probability(one), 2);
  const [, named] = (await factsOf(server)).namespaces;
  expect(named).toMatchObject({ tracker: 'api', instances: 2 });
  expect(named?.highest).toHaveLength(2);
});

test('buckets survive a restart, and a new instance receives them', async () => {
  await using directory = await makeTempDirectory('fair-restart');
  const settings = { dataDir: directory.path };
  {
    await using server = await startTestServer([createFairSlice()], { settings });
    await using tracker = track(server.port('grpc'));
    await until(isConnected(tracker), 'the connection');
    fail(tracker, 20);
    await until(() => tracker.status().pendingCells === 0, 'the acknowledgement');
    using stream = new SeedStream(server.port('grpc'));
    stream.send(deltaUpdate('42', { row_id: 3, col_id: 4, delta_prob: 0.5 }));
    await until(() => stream.responses.length === 1, 'the broadcast');
  }
  await using server = await startTestServer([createFairSlice()], { settings });
  const cellsOf = async (name: string) => {
    const text = await (await fetch(`http://127.0.0.1:${server.port('http')}/metrics`)).text();
    const gauge = new RegExp(`^syncline_fair_cells\\{tracker="${name}"\\} (\\d+)$`, 'm');
    return Number(gauge.exec(text)?.[1]);
  };
  expect(await cellsOf('default')).toBe(1);
  await using fresh = track(server.port('grpc'));
  await until(() => probability(fresh) > 0.7, 'the restored state');
  expect(await cellsOf('api')).toBeGreaterThan(0);
  using stream = new SeedStream(server.port('grpc'));
  stream.send(stateRequest('42'));
  await until(() => stream.responses.length === 1, 'the state');
  expect(stream.buckets('42')).toEqual({ '3/4': 0.5 });
});

test('with TLS and a token, clients that have both connect; others are refused and decide on their own', async () => {
  await using certificates = await makeCertificates();
  const { server: own, ca } = certificates;
  await using server = await startTestServer([createFairSlice()], {
    credentials: {
      tls: { cert: own.cert, key: own.key, ca: undefined },
      token: new Secret('right-token'),
    },
  });
  const port = server.port('grpc');
  const tls = { ca: ca.cert };
  await using right = track(port, { tls, token: 'right-token' });
  await using wrong = track(port, { tls, token: 'wrong-token' });
  await using plain = track(port, { token: 'right-token' });
  const warnings: unknown[] = [];
  const logger: Logger = {
    ...silentLogger,
    warn: (_msg, fields) => warnings.push(fields),
    child: () => logger,
  };
  const others = { ca: certificates.untrusted.cert };
  await using untrusted = track(port, { tls: others, token: 'right-token' }, logger);
  await until(isConnected(right), 'the connection');
  fail(right, 20);
  await until(() => right.status().pendingCells === 0, 'the acknowledgement');
  for (const tracker of [wrong, plain, untrusted]) {
    expect(tracker.status().connected).toBe(false);
    expect(tracker.register('noisy').throttled).toBe(false);
  }
  await until(() => warnings.length > 0, 'the warning');
  expect(warnings).toEqual([
    expect.objectContaining({
      code: 'unauthenticated',
      error: expect.stringMatching(
        / at 127\.0\.0\.1:\d+: its certificate is not trusted .*Set tls\.ca/,
      ),
    }),
  ]);
});

test('a client that does not read costs little, and catches up later', async () => {
  await using server = await startTestServer([createFairSlice()]);
  const port = server.port('grpc');
  using slow = new SeedStream(port);
  slow.send(stateRequest('42'));
  await until(() => slow.responses.length === 1, 'the first answer');
  slow.call.pause();
  using busy = new SeedStream(port);
  const places = Array.from({ length: 1_500 }, (_, at) => ({ row_id: at % 4, col_id: at }));
  const change = (amount: number) =>
    deltaUpdate('42', ...places.map((place) => ({ ...place, delta_prob: amount })));
  let rounds = 0;
  const isBehind = async () => {
    busy.send(change(rounds % 2 === 0 ? 0.5 : -0.25));
    rounds += 1;
    await until(() => busy.responses.length >= rounds, 'the round');
    return (await factsOf(server)).namespaces[0]?.streamsBehind === 1;
  };
  await until(isBehind, 'the slow stream to fall behind');
  busy.send(change(1));
  await until(() => busy.buckets('42')['0/0'] === 1, 'the last round');

  slow.call.resume();
  await until(() => slow.buckets('42')['3/1499'] === 1, 'the slow one to catch up');
  expect(slow.responses.length).toBeLessThan(busy.responses.length + 2);
  const isLive = async () => (await factsOf(server)).namespaces[0]?.streamsBehind === 0;
  await until(isLive, 'the slow one to be live again');
});

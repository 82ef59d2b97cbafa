// Two servers over one Redis: trackers of one see the outcomes reported to the other.
import { createFairTracker, type FairTracker } from '@syncline/fair';
import { grpcRemote } from '@syncline/fair/grpc';
import { startRedis } from '@syncline/testkit';
import { expect, test } from 'vitest';
import { Secret } from '../../config/secret.js';
import { startTestServer, type TestServer } from '../../testing/test-server.js';
import { until } from '../../testing/until.js';
import { createFairSlice } from './fair-slice.js';

function track(server: TestServer): FairTracker {
  const remote = grpcRemote({ address: `127.0.0.1:${server.port('grpc')}`, tracker: 'api' });
  return createFairTracker({ remote, secret: '0123456789abcdef', flushIntervalMs: 5 });
}

const probability = (tracker: FairTracker) => tracker.peek('noisy').probability;

async function isReady(server: TestServer): Promise<boolean> {
  return (await fetch(`http://127.0.0.1:${server.port('http')}/readyz`)).ok;
}

test('replicas share one state, are not ready without Redis, and are ready again once it is back', async () => {
  await using redis = await startRedis('--requirepass', 'open-sesame');
  const settings = { fair: { store: 'redis', redis: { url: redis.url } } };
  const credentials = { fairRedisPassword: new Secret('open-sesame') };
  await using one = await startTestServer([createFairSlice()], { settings, credentials });
  await using other = await startTestServer([createFairSlice()], { settings, credentials });
  await using here = track(one);
  await using there = track(other);
  await until(() => here.status().connected && there.status().connected, 'both');
  for (let time = 0; time < 20; time += 1) here.report('noisy', 'failure');
  await until(() => probability(there) > 0.7, 'the change through Redis');
  await until(() => there.status().activeInstances === 2, 'both counted');
  const status = await fetch(`http://127.0.0.1:${one.port('http')}/api/status`);
  expect(await status.json()).toMatchObject({ slices: [{ details: { store: 'redis' } }] });
  expect(await isReady(one)).toBe(true);

  await redis.kill();
  await until(async () => !(await isReady(one)), 'one to miss Redis');
  await until(() => !here.status().connected, 'the tracker to notice');
  expect(here.register('somebody').throttled).toBe(false);

  await redis.start(); // empty: only the trackers have the state
  await until(() => here.status().connected && there.status().connected, 'the return');
  expect(await isReady(one)).toBe(true);
  expect(probability(there)).toBeGreaterThan(0.6);
});

import {
  createSystemClock,
  createSystemRandom,
  SynclineError,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import { expect, test } from 'vitest';
import { createMemoryFairStore } from '../state/memory-fair-store.js';
import { StateService } from '../state/state-service.js';
import { CONFIG } from '../testing/service-rig.js';
import type { RedisFairStore } from './redis-fair-store.js';
import { InProcessStream } from './redis-remote.js';

test('a stream that ends before its hello is delivered leaves nothing at the service', async () => {
  const clock = createSystemClock();
  const memory = createMemoryFairStore({ clock });
  const ports = { clock, random: createSystemRandom(), logger: silentLogger };
  const service = new StateService({ ...ports, metrics: silentMetrics, store: memory });
  const lost = new SynclineError('unavailable', 'Redis is unreachable; nothing was sent');
  const redisNowMs = () => Promise.reject(lost);
  const store = {
    ...memory,
    redisNowMs,
    activeSeed: async () => undefined,
  } as unknown as RedisFairStore;
  const ended = new Promise<SynclineError | undefined>((resolve) => {
    const listener = { onMessage() {}, onDrain() {}, onEnd: resolve };
    const stream = new InProcessStream({ ...ports, store }, service, listener);
    stream.send({ kind: 'hello', tracker: 'api', clientId: 'one', config: CONFIG, lastEpoch: 0 });
  });
  expect(await ended).toBe(lost);
  await Promise.resolve();
  expect(service.status()).toMatchObject({ streams: 0, trackers: 0 });
  await service.close();
});

// The same guard on the older major versions of its peers, and on plain node:http.
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { silentLogger } from '@syncline/kernel';
import { startRedis } from '@syncline/testkit';
import express4 from 'express4';
import { fastify as fastify4 } from 'fastify4';
import { Redis as Redis5 } from 'ioredis5';
import { expect, test, vi } from 'vitest';
import { redisRemote } from '../redis/redis-remote.js';
import { createFairTracker } from '../tracker.js';
import { fairConnect } from './connect-middleware.js';
import { type FairExpressOptions, fairExpress } from './express-middleware.js';
import { fairFastify } from './fastify-plugin.js';

function blockedTracker() {
  const tracker = createFairTracker({ leakPerSecond: 0 });
  for (let failures = 0; failures < 30; failures += 1) tracker.report('blocked', 'failure');
  return tracker;
}

/** Sends requests as a quiet caller, as a blocked one, and as one whose key cannot be computed. */
async function statusesOf(url: string): Promise<readonly number[]> {
  const ask = async (tenant: string) => (await fetch(url, { headers: { tenant } })).status;
  return [await ask('quiet'), await ask('blocked'), await ask('broken')];
}

const keyOf = (tenant: unknown) => {
  if (tenant === 'broken') throw new Error('no key');
  return String(tenant);
};

async function statusesAt(listener: RequestListener): Promise<readonly number[]> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await statusesOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test('Express 4', async () => {
  const app = express4();
  const keyGenerator: FairExpressOptions['keyGenerator'] = ({ headers }) =>
    keyOf(headers['tenant']);
  app.use(fairExpress(blockedTracker(), { keyGenerator }) as never); // typed by Express 5
  app.get('/', (_request: unknown, response: { send(text: string): void }) => response.send('ok'));
  app.use(
    (
      _error: unknown,
      _request: unknown,
      response: { sendStatus(status: number): void },
      _next: unknown,
    ) => response.sendStatus(500),
  );
  expect(await statusesAt(app)).toEqual([200, 429, 500]);
});

test('Fastify 4', async () => {
  const app = fastify4({ forceCloseConnections: true });
  const keyGenerator = ({ headers }: { headers: Record<string, unknown> }) =>
    keyOf(headers['tenant']);
  await app.register(fairFastify as never, { tracker: blockedTracker(), keyGenerator } as never);
  app.get('/', async () => 'ok');
  expect(await statusesOf(await app.listen({ host: '127.0.0.1', port: 0 }))).toEqual([
    200, 429, 500,
  ]);
  await app.close();
});

test('plain node:http', async () => {
  const fair = fairConnect(blockedTracker(), {
    keyGenerator: ({ headers }) => keyOf(headers['tenant']),
  });
  const statuses = statusesAt((request, response) =>
    fair(request, response, (error) => {
      response.writeHead(error === undefined ? 200 : 500).end();
    }),
  );
  expect(await statuses).toEqual([200, 429, 500]);
});

test('ioredis 5', async () => {
  await using redis = await startRedis();
  const client = (settings: object) => new Redis5(redis.url, settings);
  const options = { secret: 'a secret of sixteen bytes', flushIntervalMs: 10, leakPerSecond: 0 };
  const start = () =>
    createFairTracker(
      { ...options, remote: redisRemote({ client: client as never, tracker: 'api' }) },
      { logger: silentLogger },
    );
  const [first, second] = [start(), start()];
  await vi.waitFor(() => expect(first.status().connected && second.status().connected).toBe(true), {
    timeout: 60_000,
  });
  for (let count = 0; count < 5; count += 1) first.report('a', 'failure');
  await vi.waitFor(() => expect(second.peek('a').probability).toBeCloseTo(0.2, 9), {
    timeout: 60_000,
  });
  await Promise.all([first.close(), second.close()]);
});

import { once } from 'node:events';
import { Agent, get as httpGet, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSystemRandom } from '@syncline/kernel';
import express, { type ErrorRequestHandler, type Express } from 'express';
import { afterEach, expect, test, vi } from 'vitest';
import type { FairTracker } from '../fair-tracker.js';
import { createFairTracker } from '../tracker.js';
import type { FairTrackerOptions } from '../tracker-options.js';
import { type FairExpressOptions, fairExpress } from './express-middleware.js';

const DEADLINE = { timeout: 60_000 };
const random = { ...createSystemRandom(), float: () => 0.99 };

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function listen(app: Express): Promise<string> {
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/**
 * `blocked` is at probability 1 without decay: every draw throttles it, and none throttles a caller with a few
 * failures.
 */
function createTracker(options: FairTrackerOptions = {}) {
  const tracker = createFairTracker({ ...options, lambdaPerSecond: 0 }, { random });
  return { tracker, report: vi.spyOn(tracker, 'report') };
}

function block(tracker: FairTracker, key: string): void {
  for (let failures = 0; failures < 30; failures += 1) tracker.report(key, 'failure');
}

const byTenant: FairExpressOptions = { keyGenerator: (request) => request.get('tenant') };

function ask(url: string, tenant: string): Promise<Response> {
  return fetch(url, { headers: { tenant } });
}

test('F40 the answer of a handler decides: served, exhausted, wrong, broken', async () => {
  const { tracker, report } = createTracker();
  const app = express();
  app.use(fairExpress(tracker, byTenant));
  app.get('/:status', (request, response) => {
    response.sendStatus(Number(request.params.status));
  });
  const url = await listen(app);
  for (const status of [200, 302, 404, 429, 500, 503]) {
    const { status: got } = await fetch(`${url}/${status}`, {
      headers: { tenant: 'a' },
      redirect: 'manual',
    });
    expect(got).toBe(status);
  }
  await vi.waitFor(() => expect(report).toHaveBeenCalledTimes(6), DEADLINE);
  expect(report.mock.calls.map(([, outcome]) => outcome)).toEqual([
    'success',
    'success',
    'ignore',
    'failure',
    'ignore',
    'failure',
  ]);
});

test('F40 a throttled request gets the problem document and is not reported', async () => {
  const { tracker, report } = createTracker();
  block(tracker, 'noisy');
  report.mockClear();
  const handle = vi.fn((_request, response: express.Response) => void response.send('served'));
  const app = express();
  app.use(fairExpress(tracker, { ...byTenant, standardHeaders: true }));
  app.get('/', handle);
  const url = await listen(app);
  const refused = await ask(url, 'noisy');
  expect(refused.status).toBe(429);
  expect(refused.headers.get('retry-after')).toBe('30');
  expect(refused.headers.get('ratelimit')).toBe('"fair";r=0;t=30');
  expect(refused.headers.get('content-type')).toBe('application/problem+json');
  expect(await refused.json()).toEqual({
    type: 'https://iana.org/assignments/http-problem-types#abnormal-usage-detected',
    title: 'throttled',
    status: 429,
    detail: 'This caller takes more than its fair share. Try again in 30 s.',
    code: 'throttled',
    retryable: true,
    outcome: 'not-applied',
    details: { retryAfterMs: 30_000 },
  });
  expect(handle).not.toHaveBeenCalled();
  const served = await ask(url, 'quiet');
  expect(await served.text()).toBe('served');
  expect(served.headers.get('retry-after')).toBeNull();
  await vi.waitFor(() => expect(report).toHaveBeenCalledTimes(1), DEADLINE);
  expect(report.mock.calls[0]?.[0]).toBe('quiet');
});

test('without a keyGenerator the peer is the key, and trust proxy says who that is', async () => {
  const { tracker } = createTracker();
  block(tracker, '2001:db8:1:1200::/56');
  const app = express();
  app.set('trust proxy', 'loopback');
  app.use(fairExpress(tracker, { statusCode: 503 }));
  app.get('/', (_request, response) => void response.send('served'));
  const url = await listen(app);
  const from = (address: string) => fetch(url, { headers: { 'x-forwarded-for': address } });
  expect((await from('2001:db8:1:12ab::9')).status).toBe(503);
  expect((await from('2001:db8:1:1300::9')).status).toBe(200);
  expect((await fetch(url)).status).toBe(200);
});

test('F40 a rejection of another tracker on the route is not reported as a failure', async () => {
  const outer = createTracker();
  const inner = createTracker();
  block(inner.tracker, 'noisy');
  const app = express();
  app.use(fairExpress(outer.tracker, byTenant), fairExpress(inner.tracker, byTenant));
  const url = await listen(app);
  expect((await ask(url, 'noisy')).status).toBe(429);
  await vi.waitFor(() => expect(outer.report).toHaveBeenCalled(), DEADLINE);
  expect(outer.report.mock.calls).toEqual([['noisy', 'ignore', { cost: 1 }]]);
});

test('F40 shadow mode and the allow list let a noisy caller through and report nothing of it', async () => {
  const { tracker, report } = createTracker({ shadow: true, allowList: ['health'] });
  block(tracker, 'noisy');
  report.mockClear();
  const app = express();
  app.use(fairExpress(tracker, byTenant));
  app.get('/', (_request, response) => void response.sendStatus(503));
  const url = await listen(app);
  for (const tenant of ['noisy', 'health', 'quiet']) {
    expect((await ask(url, tenant)).status).toBe(503);
  }
  await vi.waitFor(() => expect(report.mock.calls.at(-1)?.[0]).toBe('quiet'), DEADLINE);
  expect(report.mock.calls.map(([key]) => key)).not.toContain('noisy');
  expect(tracker.peek('health').probability).toBe(0);
});

test('F40 a streamed answer counts at its end, one that the client left is ignored', async () => {
  const { tracker, report } = createTracker();
  const app = express();
  app.use(fairExpress(tracker, byTenant));
  app.get('/', (request, response) => {
    response.write('first');
    if (request.get('tenant') === 'patient') response.end('last');
  });
  const url = await listen(app);
  expect(await (await ask(url, 'patient')).text()).toBe('firstlast');
  await vi.waitFor(() => expect(report).toHaveBeenCalledOnce(), DEADLINE);
  const leave = new AbortController();
  const response = await fetch(url, { headers: { tenant: 'hasty' }, signal: leave.signal });
  expect(report).toHaveBeenCalledOnce();
  leave.abort();
  await expect(response.text()).rejects.toThrow();
  await vi.waitFor(() => expect(report).toHaveBeenCalledTimes(2), DEADLINE);
  expect(report.mock.calls.map(([key, outcome]) => [key, outcome])).toEqual([
    ['patient', 'success'],
    ['hasty', 'ignore'],
  ]);
});

test('F40 each request of a kept-alive connection is reported separately', async () => {
  const { tracker, report } = createTracker();
  const app = express();
  app.use(fairExpress(tracker, byTenant));
  app.get('/', (_request, response) => void response.send('served'));
  const url = await listen(app);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ports = new Set<number | undefined>();
  for (let count = 0; count < 3; count += 1) {
    const request = httpGet(url, { agent, headers: { tenant: `t${count}` } });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    ports.add(response.socket.localPort);
    response.resume();
    await once(response, 'end');
  }
  agent.destroy();
  expect(ports.size).toBe(1);
  await vi.waitFor(() => expect(report).toHaveBeenCalledTimes(3), DEADLINE);
  expect(report.mock.calls.map(([key]) => key)).toEqual(['t0', 't1', 't2']);
});

const tellError: ErrorRequestHandler = (error: Error, _request, response, _next) => {
  response.status(418).send(error.message);
};

test.each(['keyGenerator', 'skip', 'cost', 'handler'] as const)(
  'F41 what %s throws goes to the error handler of the app',
  async (name) => {
    const { tracker } = createTracker();
    block(tracker, 'noisy');
    const app = express();
    const broken = () => {
      throw new Error(`no ${name}`);
    };
    app.use(fairExpress(tracker, { ...byTenant, [name]: broken }));
    app.get('/', (_request, response) => void response.send('served'));
    app.use(tellError);
    const response = await ask(await listen(app), 'noisy');
    expect(response.status).toBe(418);
    expect(await response.text()).toBe(`no ${name}`);
  },
);

test('F41 an app handler that throws counts by the answer that the app sends', async () => {
  const { tracker, report } = createTracker();
  const app = express();
  app.use(fairExpress(tracker, byTenant));
  app.get('/', async () => {
    throw Object.assign(new Error('the pool is empty'), { status: 503 });
  });
  app.use(((error: { status: number }, _request, response, _next) => {
    response.sendStatus(error.status);
  }) satisfies ErrorRequestHandler);
  expect((await ask(await listen(app), 'a')).status).toBe(503);
  await vi.waitFor(
    () => expect(report).toHaveBeenCalledWith('a', 'failure', { cost: 1 }),
    DEADLINE,
  );
});

test('a handler can send its own answer, with the headers of the rejection', async () => {
  const { tracker } = createTracker();
  block(tracker, 'noisy');
  const app = express();
  app.use(
    fairExpress(tracker, {
      ...byTenant,
      handler: (_request, response, _next, { statusCode, retryAfterSeconds }) =>
        response.status(statusCode).send(`wait ${retryAfterSeconds}`),
    }),
  );
  const response = await ask(await listen(app), 'noisy');
  expect(response.status).toBe(429);
  expect(response.headers.get('retry-after')).toBe('30');
  expect(await response.text()).toBe('wait 30');
});

test('F40 a handler may admit a request, whose outcome is then not reported', async () => {
  const { tracker, report } = createTracker();
  block(tracker, 'noisy');
  report.mockClear();
  const app = express();
  app.use(fairExpress(tracker, { ...byTenant, handler: (_request, _response, next) => next() }));
  app.get('/', (_request, response) => void response.sendStatus(503));
  const url = await listen(app);
  expect((await ask(url, 'noisy')).status).toBe(503);
  expect((await ask(url, 'quiet')).status).toBe(503);
  await vi.waitFor(() => expect(report).toHaveBeenCalled(), DEADLINE);
  expect(report.mock.calls).toEqual([['quiet', 'failure', { cost: 1 }]]);
});

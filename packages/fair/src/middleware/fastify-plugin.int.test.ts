import { connect } from 'node:http2';
import { createSystemRandom } from '@syncline/kernel';
import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, expect, test, vi } from 'vitest';
import type { FairTracker } from '../fair-tracker.js';
import { createFairTracker } from '../tracker.js';
import type { FairTrackerOptions } from '../tracker-options.js';
import { type FairFastifyOptions, fairFastify } from './fastify-plugin.js';

const DEADLINE = { timeout: 60_000 };
const random = { ...createSystemRandom(), float: () => 0.99 };

const apps: { close(): PromiseLike<undefined> }[] = [];

afterEach(async () => {
  for (const app of apps.splice(0)) await app.close();
});

function createApp(): FastifyInstance {
  const app = fastify({ forceCloseConnections: true });
  apps.push(app);
  return app;
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

const byTenant: Pick<FairFastifyOptions, 'keyGenerator'> = {
  keyGenerator: ({ headers }) => String(headers['tenant'] ?? ''),
};

function listen(app: FastifyInstance): Promise<string> {
  return app.listen({ host: '127.0.0.1', port: 0 });
}

function ask(url: string, tenant: string): Promise<Response> {
  return fetch(url, { headers: { tenant } });
}

test('F40 the answer decides, whether it is sent, thrown or missing', async () => {
  const { tracker, report } = createTracker();
  const app = createApp();
  await app.register(fairFastify, { tracker, ...byTenant });
  app.get('/sent', async (_request, reply) => reply.code(503).send('none left'));
  app.get('/thrown', async () => {
    throw Object.assign(new Error('none left'), { statusCode: 429 });
  });
  app.get('/bug', async () => {
    throw new Error('a bug');
  });
  app.get('/ok', async () => 'served');
  const url = await listen(app);
  const statuses = [];
  for (const path of ['sent', 'thrown', 'bug', 'ok', 'missing']) {
    statuses.push((await ask(`${url}/${path}`, 'a')).status);
  }
  expect(statuses).toEqual([503, 429, 500, 200, 404]);
  await vi.waitFor(() => expect(report).toHaveBeenCalledTimes(5), DEADLINE);
  expect(report.mock.calls.map(([, outcome]) => outcome)).toEqual([
    'failure',
    'failure',
    'ignore',
    'success',
    'ignore',
  ]);
});

test('F40 a throttled request gets the problem document and is not reported', async () => {
  const { tracker, report } = createTracker();
  block(tracker, 'noisy');
  report.mockClear();
  const handle = vi.fn(async () => 'served');
  const app = createApp();
  await app.register(fairFastify, { tracker, ...byTenant, standardHeaders: true });
  app.post('/', handle);
  const url = await listen(app);
  const refused = await fetch(url, { method: 'POST', body: 'x', headers: { tenant: 'noisy' } });
  expect(refused.status).toBe(429);
  expect(refused.headers.get('retry-after')).toBe('30');
  expect(refused.headers.get('ratelimit')).toBe('"fair";r=0;t=30');
  expect(refused.headers.get('content-type')).toBe('application/problem+json');
  expect(await refused.json()).toMatchObject({
    type: 'https://iana.org/assignments/http-problem-types#abnormal-usage-detected',
    status: 429,
    code: 'throttled',
    details: { retryAfterMs: 30_000 },
  });
  expect(handle).not.toHaveBeenCalled();
  const served = await fetch(url, { method: 'POST', body: 'x', headers: { tenant: 'quiet' } });
  expect(await served.text()).toBe('served');
  await vi.waitFor(() => expect(report).toHaveBeenCalledTimes(1), DEADLINE);
});

test('it guards the scope where it is registered, and routes have their own settings', async () => {
  const { tracker, report } = createTracker();
  block(tracker, 'noisy');
  block(tracker, 'everyone');
  report.mockClear();
  const app = createApp();
  app.get('/outside', async () => 'served');
  await app.register(async (scope) => {
    await scope.register(fairFastify, { tracker, ...byTenant });
    scope.get('/inside', async () => 'served');
    scope.get('/off', { config: { fair: false } }, async () => 'served');
    scope.get('/dear', { config: { fair: { cost: 5 } } }, async () => 'served');
    const keyGenerator = () => 'everyone';
    scope.get('/other', { config: { fair: { keyGenerator } } }, async () => 'served');
    const mistyped = { config: { fair: { costs: 5 } as object } };
    expect(() => scope.get('/typo', mistyped, async () => 'served')).toThrow(
      'unknown option "costs" of config.fair of /typo. Did you mean "cost"?',
    );
    await scope.register(async (below) => {
      below.get('/below', async () => 'served');
    });
  });
  const url = await listen(app);
  const statusOf = async (path: string, tenant: string) =>
    (await ask(`${url}/${path}`, tenant)).status;
  expect(await statusOf('outside', 'noisy')).toBe(200);
  expect(await statusOf('off', 'noisy')).toBe(200);
  expect(await statusOf('inside', 'noisy')).toBe(429);
  expect(await statusOf('below', 'noisy')).toBe(429);
  expect(await statusOf('other', 'quiet')).toBe(429);
  expect(await statusOf('dear', 'quiet')).toBe(200);
  await vi.waitFor(
    () => expect(report.mock.calls).toEqual([['quiet', 'success', { cost: 5 }]]),
    DEADLINE,
  );
});

test('registered on the app it guards routes of all scopes, and two trackers can share them', async () => {
  const outer = createTracker();
  const inner = createTracker();
  block(inner.tracker, 'noisy');
  const app = createApp();
  await app.register(fairFastify, { tracker: outer.tracker, ...byTenant });
  await app.register(fairFastify, { tracker: inner.tracker, ...byTenant, statusCode: 503 });
  await app.register(async (scope) => {
    scope.get('/', async () => 'served');
  });
  expect((await ask(await listen(app), 'noisy')).status).toBe(503);
  await vi.waitFor(() => expect(outer.report).toHaveBeenCalled(), DEADLINE);
  expect(outer.report.mock.calls).toEqual([['noisy', 'ignore', { cost: 1 }]]);
});

test('F40 shadow mode and the allow list let a noisy caller through and report nothing of it', async () => {
  const { tracker, report } = createTracker({ shadow: true, allowList: ['health'] });
  block(tracker, 'noisy');
  report.mockClear();
  const app = createApp();
  await app.register(fairFastify, { tracker, ...byTenant });
  app.get('/', async (_request, reply) => reply.code(503).send('none left'));
  const url = await listen(app);
  for (const tenant of ['noisy', 'health', 'quiet']) {
    expect((await ask(url, tenant)).status).toBe(503);
  }
  await vi.waitFor(() => expect(report.mock.calls.at(-1)?.[0]).toBe('quiet'), DEADLINE);
  expect(report.mock.calls.map(([key]) => key)).not.toContain('noisy');
  expect(tracker.peek('health').probability).toBe(0);
});

test('F40 an answer that the client did not wait for is ignored', async () => {
  const { tracker, report } = createTracker();
  const app = createApp();
  await app.register(fairFastify, { tracker, ...byTenant });
  app.get('/', (request, reply) => {
    reply.hijack();
    reply.raw.write('first');
    request.raw.once('close', () => reply.raw.end());
  });
  const leave = new AbortController();
  const url = await listen(app);
  const response = await fetch(url, { headers: { tenant: 'hasty' }, signal: leave.signal });
  leave.abort();
  await expect(response.text()).rejects.toThrow();
  await vi.waitFor(() => expect(report).toHaveBeenCalled(), DEADLINE);
  expect(report.mock.calls).toEqual([['hasty', 'ignore', { cost: 1 }]]);
});

test('F40 over HTTP/2 outcomes are reported too', async () => {
  const { tracker, report } = createTracker();
  block(tracker, 'noisy');
  report.mockClear();
  const app = fastify({ http2: true });
  apps.push(app);
  await app.register(fairFastify, { tracker, ...byTenant });
  app.get('/', async () => 'served');
  const session = connect(await app.listen({ host: '127.0.0.1', port: 0 }));
  const statusOf = async (tenant: string) => {
    const stream = session.request({ ':path': '/', tenant });
    stream.resume();
    return await new Promise((resolve, reject) => {
      stream.once('error', reject);
      stream.once('response', (headers) => resolve(headers[':status']));
    });
  };
  expect(await statusOf('quiet')).toBe(200);
  expect(await statusOf('noisy')).toBe(429);
  await vi.waitFor(
    () => expect(report.mock.calls).toEqual([['quiet', 'success', { cost: 1 }]]),
    DEADLINE,
  );
  session.destroy();
});

test.each(['keyGenerator', 'skip', 'cost', 'handler'] as const)(
  'F41 what %s throws goes to the error handler of the app',
  async (name) => {
    const { tracker } = createTracker();
    block(tracker, 'noisy');
    const app = createApp();
    app.setErrorHandler((error: Error, _request, reply) => reply.code(418).send(error.message));
    const broken = () => {
      throw new Error(`no ${name}`);
    };
    await app.register(fairFastify, { tracker, ...byTenant, [name]: broken });
    app.get('/', async () => 'served');
    const response = await ask(await listen(app), 'noisy');
    expect(response.status).toBe(418);
    expect(await response.text()).toBe(`no ${name}`);
  },
);

test('F41 what classifyOutcome throws is in the log of the app', async () => {
  const { tracker } = createTracker();
  const lines: string[] = [];
  const app = fastify({
    logger: { level: 'error', stream: { write: (line) => lines.push(line) } },
  });
  apps.push(app);
  const classifyOutcome = () => {
    throw new Error('no body');
  };
  await app.register(fairFastify, { tracker, ...byTenant, classifyOutcome });
  app.get('/', async () => 'served');
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  expect((await ask(url, 'a')).status).toBe(200);
  await vi.waitFor(() => expect(lines).toHaveLength(1), DEADLINE);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    msg: 'classifyOutcome failed; the outcome is ignored',
    err: { message: 'no body' },
  });
});

test('a handler can send its own answer, even asynchronously', async () => {
  const { tracker } = createTracker();
  block(tracker, 'noisy');
  const app = createApp();
  await app.register(fairFastify, {
    tracker,
    ...byTenant,
    handler: async (_request, reply, { statusCode, retryAfterSeconds }) => {
      await Promise.resolve();
      reply.code(statusCode).send({ waitSeconds: retryAfterSeconds });
    },
  });
  app.get('/', async () => 'served');
  const response = await ask(await listen(app), 'noisy');
  expect(response.status).toBe(429);
  expect(response.headers.get('retry-after')).toBe('30');
  expect(await response.json()).toEqual({ waitSeconds: 30 });
});

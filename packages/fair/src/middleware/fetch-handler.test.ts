import { createSystemRandom } from '@syncline/kernel';
import { expect, test, vi } from 'vitest';
import type { FairTracker } from '../fair-tracker.js';
import { createFairTracker } from '../tracker.js';
import type { FairTrackerOptions } from '../tracker-options.js';
import { type FairFetchOptions, type FetchHandler, withFair } from './fetch-handler.js';

const random = { ...createSystemRandom(), float: () => 0.99 };

const options = {
  keyGenerator: (request: Request) => request.headers.get('tenant'),
} satisfies FairFetchOptions<[]>;

/**
 * `noisy` is at probability 1 without decay: every draw throttles it, and none throttles a caller with a few
 * failures.
 */
function createTracker(trackerOptions: FairTrackerOptions = {}) {
  const tracker = createFairTracker({ ...trackerOptions, lambdaPerSecond: 0 }, { random });
  for (let failures = 0; failures < 30; failures += 1) tracker.report('noisy', 'failure');
  return { tracker, report: vi.spyOn(tracker, 'report') };
}

function requestOf(tenant: string, signal?: AbortSignal): Request {
  return new Request('http://server.test/', { headers: { tenant }, signal: signal ?? null });
}

const answering =
  (status: number): FetchHandler<[]> =>
  () =>
    new Response('answer', { status });

test.each([
  [200, 'success'],
  [302, 'success'],
  [404, 'ignore'],
  [429, 'failure'],
  [503, 'failure'],
])('F40 an answer of %d is reported once, as %s', async (status, outcome) => {
  const { tracker, report } = createTracker();
  const handle = withFair(tracker, answering(status), options);
  expect((await handle(requestOf('quiet'))).status).toBe(status);
  expect(report.mock.calls).toEqual([['quiet', outcome, { cost: 1 }]]);
});

test('F40 a throttled request gets the problem document and is not reported', async () => {
  const { tracker, report } = createTracker();
  const inner = vi.fn(answering(200));
  const handle = withFair(tracker, inner, { ...options, standardHeaders: true, statusCode: 503 });
  const response = await handle(requestOf('noisy'));
  expect(response.status).toBe(503);
  expect(Object.fromEntries(response.headers)).toEqual({
    'content-type': 'application/problem+json',
    ratelimit: '"fair";r=0;t=30',
    'retry-after': '30',
  });
  expect(await response.json()).toMatchObject({
    type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
    status: 503,
  });
  expect(inner).not.toHaveBeenCalled();
  expect(report).not.toHaveBeenCalled();
});

test('F40 a "too many" error is a failure, any other is ignored, and both are rethrown', async () => {
  const { tracker, report } = createTracker();
  for (const error of [Object.assign(new Error('none left'), { status: 503 }), new Error('bug')]) {
    const handle = withFair(tracker, async () => await Promise.reject(error), options);
    await expect(handle(requestOf('quiet'))).rejects.toBe(error);
  }
  expect(report.mock.calls.map(([, outcome]) => outcome)).toEqual(['failure', 'ignore']);
});

test('F40 a request that was aborted in the meantime is ignored', async () => {
  const { tracker, report } = createTracker();
  const leave = new AbortController();
  const handle = withFair(
    tracker,
    () => {
      leave.abort();
      return new Response('too late');
    },
    options,
  );
  await handle(requestOf('hasty', leave.signal));
  expect(report.mock.calls).toEqual([['hasty', 'ignore', { cost: 1 }]]);
});

test('F40 a rejection of another tracker inside is not reported as a failure', async () => {
  const outer = createTracker();
  const inner = createTracker();
  const guarded = withFair(inner.tracker, answering(200), options);
  const byAddress = { keyGenerator: () => '192.0.2.7' };
  const handle = withFair(outer.tracker, guarded, byAddress);
  expect((await handle(requestOf('noisy'))).status).toBe(429);
  expect(outer.report.mock.calls).toEqual([['192.0.2.7', 'ignore', { cost: 1 }]]);
});

test('F40 the same if the handler throws the refusal of another tracker', async () => {
  const outer = createTracker();
  const inner = createTracker();
  const guarded = async () => await inner.tracker.run('noisy', () => new Response('served'));
  const handle = withFair(outer.tracker, guarded, options);
  await expect(handle(requestOf('quiet'))).rejects.toMatchObject({ code: 'throttled' });
  expect(outer.report.mock.calls).toEqual([['quiet', 'ignore', { cost: 1 }]]);
});

test('F40 in shadow mode a noisy caller is served and not reported', async () => {
  const { tracker, report } = createTracker({ shadow: true });
  const handle = withFair(tracker, answering(503), options);
  expect((await handle(requestOf('noisy'))).status).toBe(503);
  expect(report).not.toHaveBeenCalled();
});

test('further arguments of the server reach the handler and the keyGenerator', async () => {
  const { tracker, report } = createTracker();
  const inner = (_request: Request, info: { readonly address: string }) =>
    new Response(info.address);
  const handle = withFair(tracker, inner, { keyGenerator: (_request, info) => info.address });
  const response = await handle(requestOf('quiet'), { address: '192.0.2.7' });
  expect(await response.text()).toBe('192.0.2.7');
  expect(report.mock.calls).toEqual([['192.0.2.7', 'success', { cost: 1 }]]);
});

test('a request without a key is served', async () => {
  const { tracker } = createTracker();
  const handle = withFair(tracker, answering(200), options);
  expect((await handle(new Request('http://server.test/'))).status).toBe(200);
});

test('a keyGenerator is required, since a Request does not know its peer', () => {
  const build = withFair as (tracker: FairTracker, handler: unknown, options: object) => unknown;
  expect(() => build(createTracker().tracker, answering(200), {})).toThrow(
    expect.objectContaining({
      code: 'invalid-argument',
      message: expect.stringContaining('a Request does not carry the address of its peer'),
    }),
  );
});

test.each(['keyGenerator', 'skip', 'cost', 'handler'] as const)(
  'F41 an error in %s rejects the call, like an error in the handler',
  async (name) => {
    const { tracker, report } = createTracker();
    const error = new Error(`no ${name}`);
    const broken = () => {
      throw error;
    };
    const handle = withFair(tracker, answering(200), { ...options, [name]: broken });
    await expect(handle(requestOf('noisy'))).rejects.toBe(error);
    expect(report).not.toHaveBeenCalled();
  },
);

test('a handler can send its own answer', async () => {
  const { tracker } = createTracker();
  const handle = withFair(tracker, answering(200), {
    ...options,
    handler: async (_request, { statusCode, headers, retryAfterSeconds }) =>
      new Response(`wait ${retryAfterSeconds}`, { status: statusCode, headers }),
  });
  const response = await handle(requestOf('noisy'));
  expect(response.headers.get('retry-after')).toBe('30');
  expect(await response.text()).toBe('wait 30');
});

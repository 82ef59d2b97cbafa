// Slow, idle, stalled and too many HTTP clients, with short limits and real sockets.
import { createSystemClock, type Metrics, silentLogger } from '@syncline/kernel';
import { makeCertificates } from '@syncline/testkit';
import { afterEach, expect, test } from 'vitest';
import { GuessBudget } from '../auth/guess-budget.js';
import type { TlsCredentials } from '../config/server-config.js';
import { LiveHub } from '../dashboard/live-hub.js';
import { LimitWatch } from '../limit-watch.js';
import type { ServerListener } from '../listener.js';
import { Lateness } from '../testing/lateness.js';
import { openRawClient } from '../testing/raw-client.js';
import { until } from '../testing/until.js';
import { UnsentWatch } from '../unsent-watch.js';
import { createHostCheck } from './host-check.js';
import { openHttpListener } from './http-listener.js';
import type { HttpTimeouts } from './node-http-server.js';
import type { ServerRoute } from './route-table.js';

const LONG: HttpTimeouts = {
  headersTimeoutMs: 30_000,
  requestTimeoutMs: 30_000,
  stallTimeoutMs: 30_000,
  idleTimeoutMs: 30_000,
};
const counted: string[] = [];
const metrics: Metrics = {
  add: (name, _amount, labels) =>
    void counted.push([name, ...Object.values(labels ?? {})].join(' ')),
  set() {},
  observe() {},
};
const hub = new LiveHub({ clock: createSystemClock(), limitReached() {} });
const routes: readonly ServerRoute[] = [
  {
    method: 'GET',
    path: '/live',
    access: 'open',
    async handle() {
      const events = await hub.open('busy', () => ({
        intervalMs: 10,
        start: () => Promise.resolve(),
        sample: () => ({ kind: 'replaced' }),
        partsCount: () => 1,
        part: () => `"${'x'.repeat(64 * 1024)}"`,
        stop() {},
      }));
      return { kind: 'events', events: { [Symbol.asyncIterator]: () => events } };
    },
  },
  {
    method: 'GET',
    path: '/large',
    access: 'open',
    handle: () => ({ kind: 'text', contentType: 'text/plain', body: 'x'.repeat(20_000_000) }),
  },
  { method: 'GET', path: '/small', access: 'open', handle: () => ({ kind: 'json', body: 1 }) },
  { method: 'POST', path: '/small', access: 'open', handle: () => ({ kind: 'json', body: 1 }) },
  { method: 'POST', path: '/posts', access: 'open', handle: () => ({ kind: 'json', body: 1 }) },
];

let listener: ServerListener | undefined;

async function open(
  timeouts: Partial<HttpTimeouts>,
  connectionsMax = 10,
  tls?: TlsCredentials,
): Promise<number> {
  const clock = createSystemClock();
  const logger = silentLogger;
  counted.length = 0;
  const limits = new LimitWatch({ clock, logger, metrics });
  listener = await openHttpListener(
    {
      clock,
      logger,
      metrics,
      limits,
      guesses: new GuessBudget({ clock, logger, limits }),
      unsent: new UnsentWatch({ clock, limits }),
      draining: new AbortController().signal,
      isTokenValid: () => true,
      isHostAllowed: createHostCheck([]),
    },
    {
      address: { host: '127.0.0.1', port: 0 },
      tls,
      connectionsMax,
      timeouts: { ...LONG, ...timeouts },
      routes,
    },
  );
  return listener.address.port;
}

afterEach(async () => {
  await listener?.close(AbortSignal.abort());
});

test('a client that sends its headers too slowly is disconnected, even if bytes keep arriving', async () => {
  await using client = await openRawClient(await open({ headersTimeoutMs: 200 }));
  client.send('GET /small HTTP/1.1\r\nhost: localhost\r\n');
  const drip = setInterval(() => client.send('x'), 20);
  await client.closed;
  clearInterval(drip);
  expect(client.text()).toContain('HTTP/1.1 408 ');
  expect(counted).toContain('syncline_server_connections_cut_total http stalled');
});

test('a client that never sends anything is disconnected', async () => {
  await using client = await openRawClient(await open({ headersTimeoutMs: 200 }));
  await client.closed;
});

test('a client that sends its body too slowly is disconnected', async () => {
  await using client = await openRawClient(
    await open({ requestTimeoutMs: 300, headersTimeoutMs: 300 }),
  );
  client.send('POST /small HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n');
  client.send('content-length: 100\r\n\r\n');
  const drip = setInterval(() => client.send('1'), 20);
  await client.closed;
  clearInterval(drip);
  expect(client.text()).toContain('HTTP/1.1 408 ');
});

test('a connection between requests is closed after the idle timeout', async () => {
  await using client = await openRawClient(await open({ idleTimeoutMs: 100 }));
  const startMs = performance.now();
  client.send('GET /small HTTP/1.1\r\nhost: localhost\r\n\r\n');
  await client.closed;
  expect(performance.now() - startMs).toBeLessThan(20_000); // and not only after the stall timeout
  expect(client.text()).toContain('HTTP/1.1 200 ');
  expect(counted).toContain('syncline_server_connections_cut_total http idle');
});

test('a client that does not read its response is disconnected', async () => {
  await using client = await openRawClient(await open({ stallTimeoutMs: 200 }));
  client.pause();
  client.send('GET /large HTTP/1.1\r\nhost: localhost\r\n\r\n');
  await until(
    () => counted.includes('syncline_server_connections_cut_total http stalled'),
    'the stalled client is cut',
  );
  client.resume();
  await client.closed;
  expect(client.text().length).toBeLessThan(20_000_000);
});

test.each(['without', 'with'] as const)(
  'at the limit, a new connection takes the place of the oldest without a request: %s TLS',
  async (mode) => {
    await using certificates = await makeCertificates();
    const { cert, key } = certificates.server;
    const isSecure = mode === 'with';
    const port = await open({}, 2, isSecure ? { cert, key, ca: undefined } : undefined);
    const connect = () => openRawClient(port, isSecure ? { ca: certificates.ca.cert } : undefined);
    await using busy = await connect();
    busy.send('GET /live HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await until(() => hub.pagesCount === 1, 'the page is open');
    await using silent = await connect();
    await using late = await connect();
    await silent.closed;
    expect(counted).toContain('syncline_server_connections_cut_total http idle');
    late.send('GET /live HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await until(() => hub.pagesCount === 2, 'its page is open, too');
    await connect().then(
      (refused) => refused.closed,
      () => undefined, // before its handshake
    );
    expect(counted).toContain('syncline_server_connections_total http refused');
    await late[Symbol.asyncDispose]();
    await until(() => hub.pagesCount === 1, 'it has left');
    await using next = await connect();
    next.send('GET /small HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await until(() => next.text().includes('HTTP/1.1 200 '), 'there is room again');
    const before = busy.text().length;
    await until(() => busy.text().length > before, 'the page was never touched');
  },
);

test('a request that was answered before its body arrived gets no second answer', async () => {
  await using client = await openRawClient(
    await open({ requestTimeoutMs: 300, headersTimeoutMs: 300 }),
  );
  client.send('GET /posts HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n');
  client.send('content-length: 100\r\n\r\n{');
  await client.closed;
  expect(client.text()).toContain('HTTP/1.1 405 ');
  expect(client.text().match(/HTTP\/1\.1 /g)).toHaveLength(1);
});

test('two Host headers are refused', async () => {
  await using client = await openRawClient(await open({}));
  client.send('GET /small HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\n');
  client.send('connection: close\r\n\r\n');
  await client.closed;
  expect(client.text()).toContain('HTTP/1.1 400 ');
});

test('a client that stops reading is disconnected after the timeout, and not much later', async () => {
  const stallTimeoutMs = 1_500;
  await using client = await openRawClient(await open({ stallTimeoutMs }));
  using lateness = new Lateness();
  const startMs = performance.now();
  client.send('GET /large HTTP/1.1\r\nhost: localhost\r\n\r\n');
  client.pause();
  await until(
    () => counted.includes('syncline_server_connections_cut_total http stalled'),
    'a cut',
  );
  const tookMs = performance.now() - startMs;
  expect(tookMs).toBeGreaterThan(0.9 * stallTimeoutMs);
  expect(tookMs - lateness.ms).toBeLessThan(1.9 * stallTimeoutMs);
});

test('an open page that stops reading is disconnected after the stall timeout, and others are not affected', async () => {
  const stallTimeoutMs = 1_500;
  const port = await open({ stallTimeoutMs });
  await using stalled = await openRawClient(port);
  await using reading = await openRawClient(port);
  stalled.pause();
  const startMs = performance.now();
  for (const client of [stalled, reading])
    client.send('GET /live HTTP/1.1\r\nhost: localhost\r\n\r\n');
  await until(() => hub.pagesCount === 2, 'both pages are open');
  await until(() => hub.pagesCount === 1, 'the page that does not read is cut');
  expect(performance.now() - startMs).toBeGreaterThan(0.9 * stallTimeoutMs);
  expect(counted.filter((line) => line.includes('_cut_total'))).toEqual([
    'syncline_server_connections_cut_total http stalled',
  ]);
  const before = reading.text().length;
  await until(() => reading.text().length > before, 'the other page gets more');
});

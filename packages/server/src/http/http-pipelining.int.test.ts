// Pipelined requests are limited, counted, and notified when the client disconnects.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { EchoSlice } from '../testing/echo-slice.js';
import { openRawClient } from '../testing/raw-client.js';
import { startTestServer, type TestServer } from '../testing/test-server.js';
import { until } from '../testing/until.js';

const REQUESTS_MAX = 4;
const get = (path: string, headers = ''): string =>
  `GET ${path} HTTP/1.1\r\nhost: localhost\r\n${headers}\r\n`;
const WAIT = get('/api/echo/say/wait');

let slice: EchoSlice;
let server: TestServer;
beforeEach(async () => {
  slice = new EchoSlice({ listeners: [] });
  server = await startTestServer([slice]);
});
afterEach(() => server.stop());

const limitReached = async (): Promise<boolean> => {
  const metrics = await fetch(`http://127.0.0.1:${server.port('http')}/metrics`);
  return (await metrics.text()).includes(
    'syncline_limit_reached_total{package="server",limit="httpRequestsPerConnectionMax"} 1',
  );
};

test('as many requests as the limit allows are answered in order, repeatedly', async () => {
  await using client = await openRawClient(server.port('http'));
  for (const round of [1, 2, 3]) {
    client.send(WAIT.repeat(REQUESTS_MAX));
    await until(() => slice.waitingCount === REQUESTS_MAX, 'all are asked');
    slice.release();
    const answered = (): number => client.text().split('HTTP/1.1 200 ').length - 1;
    await until(() => answered() === round * REQUESTS_MAX, 'all are answered');
  }
});

test.each([
  ['one more', WAIT],
  ['a thousand more', WAIT.repeat(1_000)],
  ['one without host', 'GET / HTTP/1.1\r\n\r\n'],
  ['one that expects what we do not know', get('/', 'expect: wonders\r\n')],
  ['one whose path cannot be decoded', get('/%zz')],
])('above the limit the connection is cut: %s', async (_name, more) => {
  await using client = await openRawClient(server.port('http'));
  client.send(WAIT.repeat(REQUESTS_MAX) + more);
  await client.closed;
  expect(slice.waitingCount).toBe(REQUESTS_MAX);
  expect(await limitReached()).toBe(true);
});

test('all requests are notified when the client disconnects, including queued ones', async () => {
  const client = await openRawClient(server.port('http'));
  client.send(get('/api/echo/events').repeat(3));
  await until(() => slice.waitingCount === 3, 'all stream');
  await client[Symbol.asyncDispose]();
  const gone = (): number => slice.journal.filter((line) => line === 'client gone').length;
  await until(() => gone() === 3, 'all are notified');
});

test('a stop answers all requests', async () => {
  await using client = await openRawClient(server.port('http'));
  client.send(WAIT.repeat(2));
  await until(() => slice.waitingCount === 2, 'both are asked');
  const stopped = server.stop();
  await until(() => slice.journal.includes('draining'), 'the drain has begun');
  slice.release();
  await stopped;
  await client.closed;
  expect(client.text().match(/HTTP\/1\.1 200 /g)).toHaveLength(2);
});

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { startCallerReporter } from './caller-reporter.js';
import { createFairTracker } from './tracker.js';

interface Received {
  readonly url: string | undefined;
  readonly authorization: string | undefined;
  readonly body: unknown;
}

async function startReceiver(status: number) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      let text = '';
      for await (const chunk of request) text += String(chunk);
      const { url, headers } = request;
      received.push({ url, authorization: headers.authorization, body: JSON.parse(text) });
      response.writeHead(status).end();
      server.emit('received');
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { server, received, url: `http://127.0.0.1:${port}` };
}

test('an instance reports the callers it refuses, with the rate since its last report', async () => {
  const { server, received, url } = await startReceiver(204);
  const tracker = createFairTracker();
  for (let count = 0; count < 100; count += 1) tracker.report('noisy', 'failure');
  for (let count = 0; count < 20; count += 1) tracker.register('noisy');
  const names = { tracker: 'api', instance: 'host-1' };
  const reporter = startCallerReporter(tracker, { url, ...names, token: 'secret', intervalMs: 1 });
  await once(server, 'received');
  await once(server, 'received');
  reporter.close();
  const [first, second] = received;
  expect(first).toMatchObject({ url: '/api/fair/callers', authorization: 'Bearer secret' });
  const caller = { key: 'noisy', probability: expect.closeTo(1, 1) };
  expect(first?.body).toEqual({
    ...names,
    callers: [{ ...caller, throttledPerSecond: expect.any(Number) }],
  });
  expect(second?.body).toEqual({ ...names, callers: [{ ...caller, throttledPerSecond: 0 }] });
  await tracker.close();
  server.close();
  server.closeAllConnections();
});

test('a refused report goes to onError, and a bad address is refused immediately', async () => {
  const { server, url } = await startReceiver(401);
  const tracker = createFairTracker();
  const names = { tracker: 'api', instance: 'host-1' };
  const error = await new Promise<Error>((resolve) => {
    const reporter = startCallerReporter(tracker, {
      ...names,
      url,
      onError: (thrown) => {
        reporter.close();
        resolve(thrown);
      },
    });
  });
  expect(error.message).toContain('responded to a report with HTTP 401');
  expect(() => startCallerReporter(tracker, { ...names, url: 'nowhere' })).toThrow(/"nowhere"/);
  await tracker.close();
  server.close();
  server.closeAllConnections();
});

test('a misspelled option and a token that others could read are refused', async () => {
  const tracker = createFairTracker();
  const names = { tracker: 'api', instance: 'host-1', url: 'http://192.0.2.2:9931' };
  expect(() => startCallerReporter(tracker, { ...names, token: 's3cret' })).toThrow(
    'refusing to send the token to http://192.0.2.2:9931 without TLS.',
  );
  expect(() => startCallerReporter(tracker, { ...names, ...{ intervalMS: 1 } })).toThrow(
    'unknown option "intervalMS" of startCallerReporter. Did you mean "intervalMs"?',
  );
  await tracker.close();
});

// Responses that are not the status of a Syncline server: each is a clear error, never a stack trace.
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { cliLimits } from '../limits.js';
import { fetchStatus } from './fetch-status.js';
import { statusTarget } from './status-target.js';

async function answerOf(listener: RequestListener): Promise<unknown> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    return await fetchStatus(statusTarget({ url: `http://127.0.0.1:${port}` }, {}));
  } catch (thrown) {
    return thrown;
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test('a response from another kind of server is reported as such', async () => {
  const error = await answerOf((_, response) => response.end('<html>hello</html>'));
  expect(error).toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('does not look like a Syncline server. Check --url.'),
  });
});

test('a response that only resembles a status is refused', async () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const whole = {
    nodeId: 1,
    clusterId: 'c',
    version: '1',
    nodeVersion: 'v20',
    uptimeMs: 1,
    isReady: true,
    checks: [],
    listeners: [],
    slices: [],
    peers: [],
    limitsReached: [],
  };
  const good = JSON.stringify(whole);
  expect(await answerOf((_, response) => response.end(good))).toEqual(whole);
  for (const body of [
    '{"nodeId":1,"checks":1}',
    good.replace('"checks":[]', '"checks":[1]'),
    good.replace('"slices":[]', '"slices":[{"name":"a"}]'),
    good.replace('"c"', JSON.stringify('c'.repeat(100_000))),
    good.replace('{', `{"more":${deep},`),
  ]) {
    const error = await answerOf((_, response) => response.end(body));
    expect(error).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('does not look like a Syncline server. Check --url.'),
    });
  }
});

test('a 404 from another kind of server is reported as such', async () => {
  const error = await answerOf((_, response) => response.writeHead(404).end('<html>none</html>'));
  expect(error).toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('does not look like a Syncline server. Check --url.'),
  });
});

test('an error from a Syncline server is passed on unchanged', async () => {
  const body = { detail: 'stopping', code: 'closed', retryable: false, outcome: 'not-applied' };
  const error = await answerOf((_, response) => {
    response.writeHead(503, { 'content-type': 'application/problem+json' });
    response.end(JSON.stringify(body));
  });
  expect(error).toMatchObject({ code: 'closed', message: 'stopping' });
});

test('an endless response is abandoned', async () => {
  const piece = Buffer.alloc(64 * 1024, 32);
  let sentBytes = 0;
  const error = await answerOf((_, response) => {
    const send = (): void => {
      sentBytes += piece.length;
      if (!response.destroyed) response.write(piece, send);
    };
    send();
  });
  expect(error).toMatchObject({ code: 'unavailable', outcome: 'not-applied' });
  expect(sentBytes).toBeLessThan(4 * cliLimits.answerBytesMax.value);
});

test('a connection that is lost in the middle of a response is reported', async () => {
  const error = await answerOf((_, response) => {
    response.writeHead(200, { 'content-length': 100 });
    response.write('{', () => response.destroy());
  });
  expect(error).toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(/cannot reach/),
  });
});

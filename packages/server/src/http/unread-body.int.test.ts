// Unread bodies may be as large as any other body, but not endless.
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serverLimits } from '../limits.js';
import { EchoSlice } from '../testing/echo-slice.js';
import { openRawClient } from '../testing/raw-client.js';
import { startTestServer, type TestServer } from '../testing/test-server.js';
import { until } from '../testing/until.js';

const BODY_BYTES_MAX = serverLimits.httpBodyBytesMax.value;
const CHUNKED = 'transfer-encoding: chunked\r\n';
const JSON_TYPE = 'content-type: application/json\r\n';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer([new EchoSlice({ listeners: [] })]);
});
afterAll(() => server.stop());

const head = (line: string, headers: string, host = 'localhost'): string =>
  `${line} HTTP/1.1\r\nhost: ${host}\r\n${headers}\r\n`;

/** Sends chunks as fast as they are accepted. Resolves with the number of bytes sent when the connection is cut. */
function sendForever(start: string): Promise<number> {
  const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: server.port('http') });
    const fill = (): void => {
      while (!socket.destroyed && socket.write(chunk));
      if (socket.bytesWritten > 64 * BODY_BYTES_MAX) socket.destroy();
    };
    socket.on('drain', fill).on('error', () => undefined);
    socket.on('close', () => resolve(socket.bytesWritten));
    socket.resume().write(start, fill);
  });
}

test.each([
  ['200', head('GET /healthz', CHUNKED)],
  ['404', head('GET /nowhere', CHUNKED)],
  ['405', head('DELETE /healthz', CHUNKED)],
  ['413', head('POST /api/echo/say', JSON_TYPE + CHUNKED)],
  ['415', head('POST /api/echo/say', `content-type: text/plain\r\n${CHUNKED}`)],
  ['421', head('GET /healthz', CHUNKED, 'rebound.example')],
])('an endless body is cut: %s', async (_status, start) => {
  // Socket buffers come on top of the limit.
  expect(await sendForever(start)).toBeLessThan(32 * BODY_BYTES_MAX);
});

test.each([
  ['GET /healthz', '200', 'localhost'],
  ['POST /healthz', '421', 'rebound.example'],
])('%s with a body at the limit is answered, and so is the next', async (line, status, host) => {
  await using client = await openRawClient(server.port('http'));
  client.send(head(line, `content-length: ${BODY_BYTES_MAX}\r\n`, host));
  await until(() => client.text().includes(`HTTP/1.1 ${status} `), 'the answer');
  client.send('x'.repeat(BODY_BYTES_MAX));
  client.send(head('GET /version', ''));
  await until(() => client.text().includes('"nodeVersion"'), 'the next answer');
});

test('with one more byte the connection is closed, and counted', async () => {
  await using client = await openRawClient(server.port('http'));
  client.send(head('GET /healthz', `content-length: ${BODY_BYTES_MAX + 1}\r\n`));
  await until(() => client.text().includes('HTTP/1.1 200 '), 'the answer');
  client.send('x'.repeat(BODY_BYTES_MAX + 1));
  await client.closed;
  const metrics = await fetch(`http://127.0.0.1:${server.port('http')}/metrics`);
  expect(await metrics.text()).toMatch(
    /syncline_server_connections_cut_total\{listener="http",reason="session"\} [1-9]/,
  );
});

// Attacks without a token: rapid reset, guessing tokens, and idle connections that lock out other clients.
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { Secret } from '../config/secret.js';
import { serverLimits } from '../limits.js';
import { EchoSlice } from '../testing/echo-slice.js';
import { startTestServer } from '../testing/test-server.js';
import { until } from '../testing/until.js';

const TOKEN = 'a token of sixteen characters';
const credentials = { token: new Secret(TOKEN) };
const PATH = '/toy.v1.EchoService/Say';

/** The block of a call, without compression. */
const HEADERS = [
  '\x83\x86',
  [':path', PATH],
  [':authority', 'localhost'],
  ['content-type', 'application/grpc'],
  ['te', 'trailers'],
]
  .map((part) => (typeof part === 'string' ? part : `\0${part.map(sized).join('')}`))
  .join('');

function sized(text: string): string {
  return `${String.fromCharCode(text.length)}${text}`;
}

/** An HTTP/2 frame, one character per byte. */
function frame(type: number, flags: number, stream: number, payload: string): string {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return head.toString('latin1') + payload;
}

/** Resolves with the gRPC status of the call, or with undefined if the connection was cut first. */
function call(port: number, authorization?: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    const finish = (status?: string) => {
      session.destroy();
      resolve(status);
    };
    session.on('error', () => finish());
    session.on('close', () => resolve(undefined));
    const stream = session.request({
      ':method': 'POST',
      ':path': PATH,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...(authorization === undefined ? {} : { authorization }),
    });
    stream.on('error', () => finish());
    stream.on('response', (headers) => {
      if (headers['grpc-status'] !== undefined) finish(String(headers['grpc-status']));
    });
    stream.on('trailers', (headers) => finish(String(headers['grpc-status'])));
    stream.resume();
    stream.end(Buffer.alloc(5)); // an empty message
  });
}

test('a connection that opens and resets streams is cut, and its address is then blocked', async () => {
  await using server = await startTestServer([new EchoSlice()], { credentials });
  const port = server.port('grpc');
  let sent = 0;
  const attack = () =>
    new Promise<void>((resolve) => {
      const session = connectHttp2(`http://127.0.0.1:${port}`);
      session.on('error', () => {});
      session.on('close', () => resolve());
      const flood = () => {
        if (session.destroyed) return;
        for (let count = 0; count < 50 && !session.destroyed; count += 1) {
          const stream = session.request({
            ':method': 'POST',
            ':path': sent % 2 ? PATH : '/no/such',
          });
          stream.on('error', () => {});
          stream.close(8);
          sent += 1;
        }
        setImmediate(flood);
      };
      session.on('connect', flood);
    });
  await attack();
  await attack();
  expect(sent).toBeLessThan(50_000);
  const lines = server.log.filter(({ msg }) => msg.startsWith('too many failed logins'));
  expect(lines).toMatchObject([{ level: 'warn', fields: { listener: 'grpc' } }]);
  expect(await call(port, `Bearer ${TOKEN}`)).toBeUndefined();
});

test('streams that are opened and reset at once are not handled, whatever the code', async () => {
  await using server = await startTestServer([new EchoSlice()]);
  const socket = connectTcp(server.port('grpc'), '127.0.0.1');
  const frames = [frame(4, 0, 0, '')];
  for (let count = 0; count < 400; count += 1) {
    const stream = 2 * count + 1;
    frames.push(
      frame(1, 5, stream, HEADERS),
      frame(3, 0, stream, `\0\0\0${'\0\x02\x08'[count % 3]}`),
    );
  }
  socket.write(Buffer.from(`PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${frames.join('')}`, 'latin1'));
  await until(() => socket.bytesRead > 0, 'the settings of the server');
  expect(await call(server.port('grpc'))).toBe('0');
  const metrics = await (await fetch(`http://127.0.0.1:${server.port('http')}/metrics`)).text();
  const calls = metrics.matchAll(/^syncline_server_grpc_calls_total\{.*\} (\d+)$/gm);
  const handled = [...calls].reduce((sum, [, count]) => sum + Number(count), 0);
  expect(handled).toBeLessThan(150);
  socket.destroy();
});

test('wrong tokens are counted per address, across all listeners and connections', async () => {
  await using server = await startTestServer([new EchoSlice()], { credentials });
  const guesses = serverLimits.authGuessesPerAddressMax.value;
  const half = Array.from({ length: guesses / 2 }, (_, index) => `Bearer ${index}`);
  for (const guess of half) expect(await call(server.port('grpc'), guess)).toBe('16');
  const get = (authorization: string) =>
    fetch(`http://127.0.0.1:${server.port('http')}/version`, { headers: { authorization } });
  for (const guess of half) expect((await get(guess)).status).toBe(401);
  const refused = await get(`Bearer ${TOKEN}`);
  expect(refused.status).toBe(429);
  expect(await refused.json()).toMatchObject({ code: 'throttled' });
  expect(await call(server.port('grpc'), `Bearer ${TOKEN}`)).toBeUndefined();
});

test('unauthenticated connections are closed within seconds to make room for new clients', async () => {
  const settings = { grpc: { connectionsMax: 10 } };
  await using server = await startTestServer([new EchoSlice()], { credentials, settings });
  const port = server.port('grpc');
  const idle: Socket[] = Array.from({ length: 10 }, () => connectTcp(port, '127.0.0.1'));
  for (const socket of idle) socket.on('error', () => {});
  await until(() => idle.every((socket) => !socket.connecting), 'connections stand');
  await until(async () => (await call(port, `Bearer ${TOKEN}`)) !== undefined, 'a call');
  for (const socket of idle) socket.destroy();
});

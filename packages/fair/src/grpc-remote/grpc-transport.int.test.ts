// The transport of grpcRemote over real sockets: its errors when there is no service, or another one.
import { once } from 'node:events';
import { createServer as createHttp2Server, type Http2Server } from 'node:http2';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { createSystemClock, type SynclineError } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { GrpcTransport } from './grpc-transport.js';

const clock = createSystemClock();

async function listening(server: Server | Http2Server) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Opens a stream, sends a hello, and resolves with its end. */
async function endOf(address: string): Promise<SynclineError | undefined> {
  const transport = new GrpcTransport({ clock }, { address, tls: undefined, token: undefined });
  const error = await new Promise<SynclineError | undefined>((resolve) => {
    const stream = transport.open({
      onMessage: () => expect.unreachable(),
      onDrain: () => undefined,
      onEnd: resolve,
    });
    stream.send({ kind: 'state-request', seed: 42n });
  });
  await transport.close();
  return error;
}

test('no listener: unavailable, with the address, and soon', async () => {
  const server = createServer();
  const address = await listening(server);
  server.close();
  await once(server, 'close');
  const error = await endOf(address);
  expect(error).toMatchObject({ code: 'unavailable', details: { address } });
  expect(error?.message).toContain(`cannot reach the state service at ${address}`);
  expect(error?.message).toContain('ECONNREFUSED');
});

test('an unknown host name', async () => {
  const error = await endOf('nosuchhost.invalid:7401');
  expect(error?.message).toBe(
    'cannot reach the state service at nosuchhost.invalid:7401: unknown host name "nosuchhost.invalid". Check the address.',
  );
});

test('an HTTP/2 server without gRPC', async () => {
  const server = createHttp2Server((_, response) => response.writeHead(404).end());
  const address = await listening(server);
  const error = await endOf(address);
  server.close();
  expect(error?.message).toContain('404');
});

test('answers that are not of the contract', async () => {
  const server = createHttp2Server();
  server.on('stream', (stream) => {
    stream.on('error', () => undefined);
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
    stream.write(Buffer.from([0, 0, 0, 0, 2, 0x0f, 0xff]));
  });
  const address = await listening(server);
  const error = await endOf(address);
  server.close();
  expect(error).toMatchObject({ code: 'unavailable' });
  expect(error?.message).toContain(`${address} responds, but not according to fair.state.v1`);
});

test('a cancelled stream reports nothing more', async () => {
  const server = createServer();
  const address = await listening(server);
  const transport = new GrpcTransport({ clock }, { address, tls: undefined, token: undefined });
  let calls = 0;
  const count = () => {
    calls += 1;
  };
  const stream = transport.open({ onMessage: count, onDrain: count, onEnd: count });
  stream.cancel();
  stream.cancel();
  stream.end();
  expect(stream.send({ kind: 'state-request', seed: 1n })).toBe(true);
  await transport.close();
  server.close();
  await new Promise((resolve) => setImmediate(resolve));
  expect(calls).toBe(0);
});

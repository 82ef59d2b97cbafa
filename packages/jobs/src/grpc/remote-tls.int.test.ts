// Whom a remote store trusts when it reaches its server by an IP address.
import { once } from 'node:events';
import { createSecureServer } from 'node:http2';
import { type AddressInfo, isIP } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { makeCertificates, type TestCertificates } from '@syncline/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRemoteJobStore } from './remote-job-store.js';

let certificates: TestCertificates;
beforeAll(async () => {
  certificates = await makeCertificates();
});
afterAll(() => certificates[Symbol.asyncDispose]());

/** Calls a server whose certificate is for localhost, 127.0.0.1 and ::1. It answers every call with a failure. */
async function call(host: string, tls: { readonly serverName?: string; readonly ca?: string }) {
  const { cert, key } = certificates.server;
  const server = createSecureServer({ cert, key });
  const serverNames: unknown[] = [];
  server.on('secureConnection', (socket: TLSSocket & { readonly servername: unknown }) => {
    serverNames.push(socket.servername);
  });
  server.on('stream', (stream) => {
    const headers = { 'content-type': 'application/grpc', 'grpc-status': '5' };
    stream.respond({ ...headers, 'grpc-message': 'answered' }, { endStream: true });
  });
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const address = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  await using store = createRemoteJobStore({ address, tls: { ca: certificates.ca.cert, ...tls } });
  const failure = await store.createJob({ jobId: 'nightly', numTasks: 1 }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  server.close();
  return { failure, serverNames };
}

const ANSWERED = { code: 'not-found', message: expect.stringContaining('answered') };

test.each([
  ['127.0.0.1', {}],
  ['::1', {}],
  ['127.0.0.2', { serverName: '127.0.0.1' }],
  ['127.0.0.2', { serverName: 'localhost' }],
])(
  'a certificate for the address is trusted, and no address is sent as a name: %s %j',
  async (host, tls) => {
    const { failure, serverNames } = await call(host, tls);
    expect(failure).toMatchObject(ANSWERED);
    expect(serverNames.map((name) => isIP(String(name)))).toEqual([0]);
  },
);

test.each([
  ['127.0.0.2', {}],
  ['127.0.0.1', { serverName: '127.0.0.2' }],
  ['127.0.0.1', { serverName: 'ip-address.invalid' }],
])('a certificate for another address is not: %s %j', async (host, tls) => {
  const { failure } = await call(host, tls);
  expect(failure).toMatchObject({
    code: 'unauthenticated',
    outcome: 'not-applied',
    message: expect.stringContaining("does not match certificate's altnames"),
  });
});

test('a certificate of another authority is not trusted, even for the right address', async () => {
  const { failure } = await call('127.0.0.1', { ca: certificates.untrusted.cert });
  expect(failure).toMatchObject({ code: 'unauthenticated', details: { reason: 'certificate' } });
});

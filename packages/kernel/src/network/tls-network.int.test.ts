import { once } from 'node:events';
import { connect as connectPlain, createServer, type Server, type Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { makeCertificates, type TestCertificates } from '@syncline/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { networkSuite } from '../conformance/network-suite.js';
import { kernelLimits } from '../limits.js';
import { createSystemClock } from '../system-clock.js';
import type { Connection } from './network.js';
import type { Refusal } from './tcp-settings.js';
import { createTlsNetwork, type TlsNetworkOptions } from './tls-network.js';

const anyPort = { host: '127.0.0.1', port: 0 };
let certificates: TestCertificates;
beforeAll(async () => {
  certificates = await makeCertificates();
});
afterAll(() => certificates[Symbol.asyncDispose]());

function pair(name: 'server' | 'client' | 'expired' | 'untrusted'): TlsNetworkOptions {
  const { cert, key } = certificates[name];
  return { cert, key, ca: certificates.ca.cert };
}

describe('the TLS network', () => {
  for (const { name, run } of networkSuite(async () => ({
    network: createTlsNetwork(pair('server')),
    clock: createSystemClock(),
    host: '127.0.0.1',
    highWaterBytes: kernelLimits.connectionHighWaterBytes.value,
    transitBytesMax: 16 * 1024 * 1024,
    async [Symbol.asyncDispose]() {},
  })))
    it(name, run);
});

/** Starts a server that is not ours, and returns its address. */
async function start(server: Server, host = '127.0.0.1') {
  await once(server.listen(0, host), 'listening');
  const bound = server.address();
  return {
    address: { host, port: typeof bound === 'object' && bound ? bound.port : 0 },
    async [Symbol.asyncDispose]() {
      server.close();
    },
  };
}

/** Whatever goes wrong, the socket is closed eventually. */
function whenClosed(socket: Socket): Promise<void> {
  socket.on('error', () => {}).resume();
  return new Promise((resolve) => void socket.once('close', () => resolve()));
}

/** A listener that records which connections were accepted and which were not. */
async function watch(options: TlsNetworkOptions) {
  const accepted: Connection[] = [];
  const refusals: Refusal[] = [];
  const network = createTlsNetwork({ ...options, onRefused: (refusal) => refusals.push(refusal) });
  const listener = await network.listen(anyPort, (connection) => accepted.push(connection));
  return {
    network,
    address: listener.address,
    accepted,
    refusals,
    async [Symbol.asyncDispose]() {
      await listener.close();
      await Promise.all(accepted.map((connection) => connection[Symbol.asyncDispose]()));
    },
  };
}

describe('certificates of peers', () => {
  it('K69 both ends learn the URI names of the other, verified', async () => {
    await using server = await watch(pair('server'));
    await using connection = await createTlsNetwork(pair('client')).connect(server.address);
    await expect.poll(() => server.accepted.length).toBe(1);
    expect(server.accepted[0]?.peerUris).toEqual(['syncline://test/node/2']);
    expect(connection.peerUris).toEqual(['syncline://test/node/1']);
  });

  it('K69 without client certificates there are no peer names', async () => {
    await using server = await watch({ ...pair('server'), requireClientCertificate: false });
    await using _connection = await createTlsNetwork(pair('client')).connect(server.address);
    await expect.poll(() => server.accepted.length).toBe(1);
    expect(server.accepted[0]?.peerUris).toEqual([]);
  });

  for (const flaw of ['expired', 'untrusted', 'none'] as const) {
    it(`K69 a client certificate that is ${flaw} never reaches accept`, async () => {
      await using server = await watch(pair('server'));
      const { ca } = certificates;
      const shown =
        flaw === 'none' ? {} : { cert: certificates[flaw].cert, key: certificates[flaw].key };
      const socket = connectTls({ ...server.address, ca: ca.cert, ...shown });
      await whenClosed(socket);
      await expect.poll(() => server.refusals.length).toBe(1);
      expect(server.refusals[0]?.reason).toBe('handshake-failed');
      expect(server.refusals[0]?.error?.message).toMatch(/certificate/);
      expect(server.accepted).toEqual([]);
    });
  }

  for (const flaw of ['expired', 'untrusted'] as const) {
    it(`K69 a server certificate that is ${flaw} fails the connect`, async () => {
      const { cert, key } = certificates[flaw];
      await using flawed = await start(createTlsServer({ cert, key }));
      const error = await createTlsNetwork(pair('client'))
        .connect(flawed.address)
        .catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        code: 'unauthenticated',
        message: expect.stringMatching(/^the certificate of 127\.0\.0\.1:\d+ is not trusted/),
        details: { reason: 'certificate' },
      });
    });
  }

  it('K69 a certificate for another host fails the connect', async () => {
    const { cert, key } = certificates.server;
    await using elsewhere = await start(createTlsServer({ cert, key }), '127.0.0.2');
    await expect(createTlsNetwork(pair('client')).connect(elsewhere.address)).rejects.toMatchObject(
      {
        code: 'unauthenticated',
        message: expect.stringMatching(/does not match certificate/),
      },
    );
  });
});

describe('handshakes', () => {
  it('K69 garbage and plain text never reach accept', async () => {
    await using server = await watch({ ...pair('server'), handshakeTimeoutMs: 200 });
    for (const greeting of ['GET / HTTP/1.1\r\n\r\n', '\0'.repeat(100), '\u0016\u0003\u0001']) {
      const socket = connectPlain(server.address);
      socket.end(greeting);
      await whenClosed(socket);
    }
    await expect.poll(() => server.refusals.length).toBe(3);
    expect(server.accepted).toEqual([]);
  });

  it('K69 a handshake that trickles is cut off in time', async () => {
    await using server = await watch({ ...pair('server'), handshakeTimeoutMs: 100 });
    const socket = connectPlain(server.address);
    const greeting = Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc]);
    let sent = 0;
    const timer = setInterval(() => socket.write(greeting.subarray(sent, ++sent)), 30);
    await whenClosed(socket);
    clearInterval(timer);
    await expect.poll(() => server.refusals.length).toBe(1);
    expect(server.refusals[0]?.error?.message).toBe('no TLS handshake within 100 ms');
  });

  it('K69 a handshake in progress when the listener closes is dropped', async () => {
    const accepted: Connection[] = [];
    const network = createTlsNetwork({ ...pair('server'), handshakeTimeoutMs: 600_000 });
    const listener = await network.listen(anyPort, (connection) => accepted.push(connection));
    const socket = connectPlain(listener.address);
    const closed = whenClosed(socket); // from now on: it may be reset as the listener closes
    await once(socket, 'connect');
    await new Promise((resolve) => setImmediate(resolve));
    await listener.close();
    await closed;
    expect(accepted).toEqual([]);
  });

  it('TLS below 1.2 is refused', async () => {
    await using server = await watch({ ...pair('server'), requireClientCertificate: false });
    const old = {
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    } as const;
    const socket = connectTls({ ...server.address, ...old, ca: certificates.ca.cert });
    const [error] = await once(socket, 'error');
    expect(String(error)).toMatch(/alert protocol version/);
    expect(server.accepted).toEqual([]);
  });

  it('a connect to a plain server reports that it does not use TLS', async () => {
    await using plain = await start(
      createServer((socket) => void whenClosed(socket.end('-ERR\r\n'))),
    );
    await expect(createTlsNetwork(pair('client')).connect(plain.address)).rejects.toMatchObject({
      code: 'unavailable',
      details: { reason: 'handshake' },
      message: expect.stringMatching(
        /^TLS handshake with 127\.0\.0\.1:\d+ failed \(wrong version number\)/,
      ),
    });
  });

  it('a connect to a server that never answers times out, handshake included', async () => {
    await using silent = await start(createServer((socket) => void whenClosed(socket)));
    const network = createTlsNetwork({ ...pair('client'), connectTimeoutMs: 100 });
    await expect(network.connect(silent.address)).rejects.toMatchObject({
      code: 'timeout',
      message: expect.stringMatching(/^no connection to 127\.0\.0\.1:\d+ within 100 ms/),
    });
  });
});

describe('creating', () => {
  it('invalid material is refused immediately', () => {
    const { cert, key } = certificates.mismatched;
    expect(() => createTlsNetwork({ cert, key })).toThrow(/does not belong/);
    expect(() => createTlsNetwork({ requireClientCertificate: true })).toThrow(/without a CA/);
  });

  it('a network without a certificate connects but does not listen', async () => {
    await using server = await watch({ ...pair('server'), requireClientCertificate: false });
    const network = createTlsNetwork({ ca: certificates.ca.cert, requireClientCertificate: false });
    await using connection = await network.connect({ ...server.address, host: 'localhost' });
    expect(connection.remote.port).toBe(server.address.port);
    await expect(network.listen(anyPort, () => {})).rejects.toMatchObject({
      code: 'invalid-argument',
    });
  });
});

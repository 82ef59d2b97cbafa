// TLS and mutual TLS on every listener, with certificates made for the test.
import { credentials } from '@grpc/grpc-js';
import { kernelLimits } from '@syncline/kernel';
import { makeCertificates, type TestCertificates } from '@syncline/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createEchoClient, say } from './testing/echo-client.js';
import { EchoSlice } from './testing/echo-slice.js';
import { Lateness } from './testing/lateness.js';
import { openRawClient } from './testing/raw-client.js';
import { startTestServer, type TestServer } from './testing/test-server.js';
import { until } from './testing/until.js';

let certificates: TestCertificates;
beforeAll(async () => {
  certificates = await makeCertificates();
});
afterAll(() => certificates[Symbol.asyncDispose]());

interface Identity {
  readonly cert?: string;
  readonly key?: string;
}

/** Sends a request that each listener answers, and returns the reply; empty if refused. */
async function ask(server: TestServer, listener: 'http' | 'resp', identity: Identity) {
  const { ca } = certificates;
  await using client = await openRawClient(server.port(listener), { ca: ca.cert, ...identity });
  const isHttp = listener === 'http';
  client.send(
    isHttp ? 'GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n' : 'QUIT',
  );
  await client.closed;
  return isHttp ? client.text().slice(0, 12) : client.text();
}

async function call(server: TestServer, { cert, key }: Identity): Promise<string | undefined> {
  const pem = (text: string | undefined): Buffer | null =>
    text === undefined ? null : Buffer.from(text);
  const echo = createEchoClient(server.port('grpc'), {
    credentials: credentials.createSsl(pem(certificates.ca.cert), pem(key), pem(cert)),
    channel: { 'grpc.ssl_target_name_override': 'localhost' },
  });
  const { text } = await say(echo, 'hello');
  echo.close();
  return text;
}

const ANSWERS = { http: 'HTTP/1.1 200', resp: 'QUIT' } as const;
const LISTENERS = ['http', 'resp'] as const;

describe('TLS', () => {
  let server: TestServer;
  beforeAll(async () => {
    const { cert, key } = certificates.server;
    server = await startTestServer([new EchoSlice()], {
      credentials: { tls: { cert, key, ca: undefined } },
    });
  });
  afterAll(() => server.stop());

  test.each(LISTENERS)('%s answers a client that trusts the authority', async (listener) => {
    expect(await ask(server, listener, {})).toBe(ANSWERS[listener]);
  });

  test('gRPC answers a client that trusts the authority', async () => {
    expect(await call(server, {})).toBe('hello');
  });

  test.each([...LISTENERS, 'grpc'] as const)('%s does not answer plain bytes', async (listener) => {
    await using client = await openRawClient(server.port(listener));
    client.send('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await client.closed;
    expect(client.text()).not.toContain('200');
  });

  test('gRPC refuses a client that does not speak HTTP/2', async () => {
    const options = { ca: certificates.ca.cert, ALPNProtocols: ['http/1.1'] };
    await expect(openRawClient(server.port('grpc'), options)).rejects.toThrow();
  });

  test('a TLS version below 1.2 is refused', async () => {
    const options = {
      ca: certificates.ca.cert,
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
    } as const;
    for (const listener of [...LISTENERS, 'grpc'] as const) {
      await expect(openRawClient(server.port(listener), options)).rejects.toThrow();
    }
  });
});

test('a client that never begins its handshake does not delay a stop', async () => {
  const { cert, key } = certificates.server;
  const server = await startTestServer([new EchoSlice()], {
    credentials: { tls: { cert, key, ca: undefined } },
  });
  const silent = [];
  for (const listener of [...LISTENERS, 'grpc'] as const) {
    silent.push(await openRawClient(server.port(listener)));
  }
  using lateness = new Lateness();
  const startMs = performance.now();
  expect(await server.stop()).toEqual({ inTime: true, failures: [] });
  const tookMs = performance.now() - startMs - lateness.ms;
  expect(tookMs).toBeLessThan(kernelLimits.tlsHandshakeTimeoutMs.value - 1_000);
  await Promise.all(silent.map((client) => client.closed));
});

test('a slow handshake is aborted after the same time on every listener', async () => {
  const { cert, key } = certificates.server;
  await using server = await startTestServer([new EchoSlice()], {
    credentials: { tls: { cert, key, ca: undefined } },
  });
  const startMs = performance.now();
  const cutAfterMs = [...LISTENERS, 'grpc' as const].map(async (listener) => {
    await using client = await openRawClient(server.port(listener));
    client.send('\u0016\u0003\u0001\u0002'); // the beginning of a ClientHello
    const trickle = setInterval(() => client.send('\u0001'), 500);
    await client.closed;
    clearInterval(trickle);
    return performance.now() - startMs;
  });
  const { value } = kernelLimits.tlsHandshakeTimeoutMs;
  for (const ms of await Promise.all(cutAfterMs)) {
    expect(ms).toBeGreaterThan(value - 500);
    expect(ms).toBeLessThan(value + 20_000);
  }
});

describe('mutual TLS', () => {
  let server: TestServer;
  beforeAll(async () => {
    const { cert, key } = certificates.server;
    server = await startTestServer([new EchoSlice()], {
      credentials: { tls: { cert, key, ca: certificates.ca.cert } },
    });
  });
  afterAll(() => server.stop());

  test.each(LISTENERS)('%s answers a client with a certificate', async (listener) => {
    expect(await ask(server, listener, certificates.client)).toBe(ANSWERS[listener]);
  });

  test.each(LISTENERS)(
    '%s refuses unknown certificates and those without a certificate',
    async (listener) => {
      expect(await ask(server, listener, {}).catch(() => '')).toBe('');
      expect(await ask(server, listener, certificates.untrusted).catch(() => '')).toBe('');
      expect(await ask(server, listener, certificates.expired).catch(() => '')).toBe('');
    },
  );

  test('gRPC accepts a client with a certificate, and no other', async () => {
    expect(await call(server, certificates.client)).toBe('hello');
    expect(await call(server, {})).toBeUndefined();
    expect(await call(server, certificates.untrusted)).toBeUndefined();
  });
});

test('failed handshakes are counted on every listener, and the log has the reason', async () => {
  const { cert, key } = certificates.server;
  await using server = await startTestServer([new EchoSlice()], {
    credentials: { tls: { cert, key, ca: certificates.ca.cert } },
  });
  const listeners = [...LISTENERS, 'grpc'] as const;
  for (const listener of listeners) {
    const ALPNProtocols = [listener === 'grpc' ? 'h2' : 'http/1.1'];
    const identity = { ca: certificates.ca.cert, ALPNProtocols, ...certificates.untrusted };
    await openRawClient(server.port(listener), identity).then(
      (client) => client.closed,
      () => undefined,
    );
  }
  const failures = () => server.log.filter(({ msg }) => msg === 'connection failed');
  await until(() => failures().length === listeners.length, 'every failure is logged');
  expect(failures().map(({ fields }) => fields['listener'])).toEqual(listeners);
  for (const { level, fields } of failures()) {
    expect(level).toBe('debug');
    expect(fields['reason']).toMatch(/the client's certificate is not trusted/);
  }
  const identity = { ca: certificates.ca.cert, ...certificates.client };
  await using client = await openRawClient(server.port('http'), identity);
  client.send('GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
  await client.closed;
  const counted = client.text().match(/^syncline_server_connections_total\{.*$/gm);
  const line = (listener: string, result: string) =>
    `syncline_server_connections_total{listener="${listener}",result="${result}"} 1`;
  const expected = [
    ...listeners.map((listener) => line(listener, 'failed')),
    line('http', 'accepted'),
  ];
  expect(counted?.toSorted()).toEqual(expected.toSorted());
});

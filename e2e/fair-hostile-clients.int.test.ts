// Unauthenticated, broken and slow clients of a real server: each gets a clear status, its cost is bounded, and a
// well-behaved instance is served all the time.
//
// FAIR_HOSTILE_HELLOS (500) is the number of client ids that send a Hello; 4200 is more than a tracker remembers.
// FAIR_FIGURES=1 prints the memory of the server.
import { readFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { type ServiceError, status } from '@grpc/grpc-js';
import type { ClusterNode } from '@syncline/testkit';
import { expect, test, vi } from 'vitest';
import { startCluster } from './cluster.js';
import { startFleet, tell, WAIT } from './fair-fleet.js';
import { encodeDeltas, encodeHello, encodeStateRequest } from './fair-messages.js';
import { HTTP2_STREAMS_MAX, RawStreams, SYNC_PATH } from './fair-raw-streams.js';

const HELLOS = Number(process.env['FAIR_HOSTILE_HELLOS'] ?? 500);
const STREAMS_MAX = 1_024;
const TRACKERS_MAX = 64;
const MEMORY_GROWTH_MAX = 256 * 1024 * 1024;

function residentBytes(node: ClusterNode): number {
  const facts = readFileSync(`/proc/${node.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(facts)?.[1]) * 1_024;
}

/** Sends bytes to a port and resolves when the server has closed the connection. */
function sendGarbage(port: number, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    const socket = connectTcp(port, '127.0.0.1', () => socket.end(bytes));
    socket.on('error', () => undefined).resume();
    socket.once('close', () => resolve());
  });
}

/** The body of a call, as raw as HTTP/2 allows. */
function sendBody(port: number, body: Uint8Array): Promise<void> {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  session.on('error', () => undefined);
  const headers = {
    ':method': 'POST',
    ':path': SYNC_PATH,
    'content-type': 'application/grpc',
    te: 'trailers',
  };
  const stream = session.request(headers);
  stream.on('error', () => undefined).resume();
  stream.end(body);
  return new Promise((resolve) => {
    stream.once('close', () => {
      session.destroy();
      resolve();
    });
  });
}

test('F9 F10 hostile and slow clients affect no one but themselves', async () => {
  await using cluster = await startCluster({ nodes: 1 });
  const node = cluster.node(1);
  const address = node.url('grpc');
  const { port } = node.address('grpc');
  await using fleet = startFleet(2, {
    via: 'grpc',
    address,
    decisionsPerSecond: 500,
    options: { policy: 'linear', leakPerSecond: 0 },
  });
  const epoch = await fleet.connected();
  const [key = ''] = await fleet.ownKeys(1);
  let reported = 0;
  /** Outcomes reported at one instance reach the other, and neither was ever disconnected. */
  const expectService = async (after: string) => {
    await fleet.instances[0]?.fail(key, 1);
    reported += 1;
    await vi.waitFor(async () => {
      for (const [held] of await fleet.probabilities([key]))
        expect(held, after).toBeCloseTo(reported * 0.04, 9);
    }, WAIT);
    for (const each of await fleet.statuses())
      expect(each, after).toMatchObject({ connected: true, epoch, errors: [] });
    tell(`${after}: ${(residentBytes(node) / 1_048_576).toFixed(0)} MiB`);
  };
  await expectService('at the start');
  const startBytes = residentBytes(node);

  await sendGarbage(port, Buffer.alloc(100_000, 0x5a));
  await sendGarbage(
    port,
    Buffer.from(`PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${'\0garbage'.repeat(1_000)}`),
  );
  for (const body of [[1, 0, 0, 0, 1, 7], [0, 0xff, 0xff, 0xff, 0xff, 1], [0, 0, 0, 0, 9, 1], [0]])
    await sendBody(port, Uint8Array.from(body));
  await expectService('after garbage frames');

  for (const [message, code] of [
    [Buffer.from('no message at all'), status.INVALID_ARGUMENT],
    [encodeDeltas(42, 400_000), status.INVALID_ARGUMENT],
    [encodeDeltas(42, 1_000_000), status.RESOURCE_EXHAUSTED],
  ] as const) {
    using streams = new RawStreams(address);
    const stream = streams.open('own connection');
    stream.call.write(message);
    expect((await stream.refusal()).code).toBe(code);
  }
  await expectService('after bad messages');

  await floodTrackers(address);
  await expectService(`after hellos of ${TRACKERS_MAX + 10} trackers`);
  await floodClients(address);
  await expectService(`after hellos of ${HELLOS} clients`);
  await crowd(address);
  await expectService(`after ${STREAMS_MAX + 1} streams`);

  using slow = new RawStreams(address);
  const deaf = slow.open('own connection');
  deaf.call.pause();
  for (let request = 0; request < 2_000; request += 1) deaf.call.write(encodeStateRequest(42));
  await expectService('beside a client that sends requests and never reads');
  expect(residentBytes(node) - startBytes).toBeLessThan(MEMORY_GROWTH_MAX);
});

async function floodTrackers(address: string): Promise<void> {
  using streams = new RawStreams(address);
  const errors: ServiceError[] = [];
  for (let index = 0; index < TRACKERS_MAX + 10; index += 1) {
    const stream = streams.open('own connection');
    stream.call.write(encodeHello(`unknown-${index}`, 'one'));
    await vi.waitFor(() => expect(stream.isAnswered).toBe(true), WAIT);
    if (stream.error) errors.push(stream.error);
  }
  expect(errors).toHaveLength(11); // one of the names is used by the well-behaved instances
  for (const error of errors) {
    expect(error.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(error.details).toMatch(/limited to 64|has 64 seeds/);
  }
}

/** One after the other, so that each leaves a client id behind. */
async function floodClients(address: string): Promise<void> {
  for (let from = 0; from < HELLOS; from += HTTP2_STREAMS_MAX / 2) {
    using streams = new RawStreams(address);
    const batch = Array.from({ length: HTTP2_STREAMS_MAX / 2 }, (_, index) => {
      const stream = streams.open('shared connection');
      stream.call.write(encodeHello('unknown-0', `client-${from + index}`));
      return stream;
    });
    await vi.waitFor(() => {
      for (const stream of batch) expect(stream.isAnswered).toBe(true);
    }, WAIT);
    for (const { error } of batch) expect(error).toBeUndefined();
  }
}

/** More streams than the server accepts, over as many connections as that needs. */
async function crowd(address: string): Promise<void> {
  using streams = new RawStreams(address);
  const all = Array.from({ length: STREAMS_MAX + 1 }, () => {
    const stream = streams.open('shared connection');
    stream.call.write(encodeStateRequest(42));
    return stream;
  });
  await vi.waitFor(() => {
    for (const stream of all) expect(stream.isAnswered).toBe(true);
  }, WAIT);
  const errors = all.flatMap(({ error }) => (error ? [error] : []));
  expect(errors.length).toBeGreaterThanOrEqual(3); // two streams belong to the well-behaved instances
  for (const error of errors) expect(error.code).toBe(status.RESOURCE_EXHAUSTED);
}

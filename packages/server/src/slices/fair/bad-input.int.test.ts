// Invalid input over real gRPC causes a clear error and changes nothing, and the service keeps running.
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { deltaUpdate, SeedStream, stateRequest } from '../../testing/seed-client.js';
import { startTestServer, type TestServer } from '../../testing/test-server.js';
import { until } from '../../testing/until.js';
import { createFairSlice } from './fair-slice.js';

const SEED = '42';
let server: TestServer;

beforeAll(async () => {
  server = await startTestServer([createFairSlice()]);
  using stream = new SeedStream(server.port('grpc'));
  stream.send(deltaUpdate(SEED, { row_id: 1, col_id: 1, delta_prob: 0.5 }));
  await until(() => stream.responses.length === 1, 'the first bucket');
});
afterAll(() => server.stop());

/** The only bucket that was ever changed. */
async function expectUnchanged(): Promise<void> {
  using stream = new SeedStream(server.port('grpc'));
  stream.send(stateRequest(SEED));
  await until(() => stream.responses.length === 1, 'the state');
  expect(stream.buckets(SEED)).toEqual({ '1/1': 0.5 });
}

const good = { row_id: 1, col_id: 1, delta_prob: 0.25 };
const fill = (count: number, part: readonly number[]) =>
  Buffer.concat(Array.from({ length: count }, () => Buffer.from(part)));

/** A DeltaUpdate of empty deltas, two bytes each. */
function manyDeltas(count: number): Buffer {
  const body = Buffer.concat([Buffer.from([0x08, 42]), fill(count, [0x12, 0x00])]);
  const length = [body.length & 0x7f, (body.length >> 7) & 0x7f, (body.length >> 14) & 0x7f].map(
    (part) => part | 0x80,
  );
  return Buffer.concat([Buffer.from([0x0a, ...length, body.length >> 21]), body]);
}

const cases: Readonly<Record<string, { readonly message: unknown; readonly text: RegExp }>> = {
  'not a number': {
    message: deltaUpdate(SEED, good, { ...good, delta_prob: Number.NaN }),
    text: /delta_prob|finite/,
  },
  'an infinite delta': {
    message: deltaUpdate(SEED, good, { ...good, delta_prob: Number.POSITIVE_INFINITY }),
    text: /delta_prob|finite/,
  },
  'a negative infinite delta': {
    message: deltaUpdate(SEED, good, { ...good, delta_prob: Number.NEGATIVE_INFINITY }),
    text: /delta_prob|finite/,
  },
  'a negative row': {
    message: deltaUpdate(SEED, good, { ...good, row_id: '-1' }),
    text: /row_id/,
  },
  'a huge column': {
    message: deltaUpdate(SEED, good, { ...good, col_id: '18446744073709551615' }),
    text: /col_id/,
  },
  'a huge time': {
    message: deltaUpdate(SEED, good, { ...good, last_update_time_ms: '9007199254740993' }),
    text: /last_update_time_ms/,
  },
  'too many deltas within a megabyte': { message: manyDeltas(400_000), text: /8192/ },
  nothing: { message: Buffer.alloc(0), text: /request/ },
  'unknown fields': {
    message: Buffer.from([0xf8, 0x01, 0x07, 0xfa, 0x01, 0x03, 1, 2, 3]),
    text: /request/,
  },
  'a message that is cut off': { message: Buffer.from([0x0a, 0x7f, 0x08]), text: /./ },
  'bytes that are not a message': { message: Buffer.from('hello there, state service'), text: /./ },
  zeros: { message: Buffer.alloc(100), text: /./ },
};

test.each(Object.entries(cases))('%s is INVALID_ARGUMENT', async (_, { message, text }) => {
  using stream = new SeedStream(server.port('grpc'));
  stream.send(message);
  const error = await stream.refusal();
  expect(error.code).toBe(status.INVALID_ARGUMENT);
  expect(error.details).toMatch(text);
  expect(error.metadata.get('syncline-code')).toEqual(['invalid-argument']);
  await expectUnchanged();
});

test('a million deltas in one message are refused with RESOURCE_EXHAUSTED before they are decoded', async () => {
  using stream = new SeedStream(server.port('grpc'));
  stream.send(manyDeltas(1_000_000));
  const error = await stream.refusal();
  expect(error.code).toBe(status.RESOURCE_EXHAUSTED);
  await expectUnchanged();
});

test('a bad message ends only its own stream', async () => {
  using other = new SeedStream(server.port('grpc'));
  other.send(stateRequest(SEED));
  await until(() => other.responses.length === 1, 'the state');
  using stream = new SeedStream(server.port('grpc'));
  stream.send(Buffer.alloc(10));
  await stream.refusal();
  other.send(stateRequest(SEED));
  await until(() => other.responses.length === 2, 'another answer');
});

/** Sends raw bytes as the body of a call, and resolves when the server has ended it. */
function callWith(body: Uint8Array): Promise<void> {
  const session = connectHttp2(`http://127.0.0.1:${server.port('grpc')}`);
  const stream = session.request({
    ':method': 'POST',
    ':path': '/fair.state.v1.StateService/Sync',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  stream.on('error', () => undefined);
  stream.end(body);
  stream.resume();
  return new Promise((resolve) => {
    stream.once('close', () => {
      session.destroy();
      resolve();
    });
  });
}

test.each([
  ['a frame that says it is compressed', [1, 0, 0, 0, 1, 7]],
  ['a frame longer than any message', [0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3]],
  ['half a frame', [0, 0, 0, 0, 9, 1]],
  ['half a head', [0, 0]],
])('%s', async (_, bytes) => {
  await callWith(Uint8Array.from(bytes));
  await expectUnchanged();
});

test('bytes that are not HTTP/2 only affect their own connection', async () => {
  const socket = connectTcp(server.port('grpc'), '127.0.0.1');
  socket.on('error', () => undefined).resume();
  socket.end(Buffer.alloc(1_000, 0x5a));
  await new Promise((resolve) => socket.once('close', resolve));
  await expectUnchanged();
});

test('GET /api/fair accepts a limit and a tracker, and explains why it refuses invalid ones', async () => {
  const ask = async (query: string) => {
    const answer = await fetch(`http://127.0.0.1:${server.port('http')}/api/fair${query}`);
    return { code: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  const all = await ask('');
  expect(all).toMatchObject({
    code: 200,
    body: { namespaces: [{ tracker: 'default', cells: 1 }] },
  });
  expect(await ask('?limit=0')).toMatchObject({ body: { namespaces: [{ highest: [] }] } });
  expect(await ask('?tracker=default')).toMatchObject({ code: 200 });
  for (const query of ['?limit=-1', '?limit=1001', '?limit=x', '?limit='])
    expect(await ask(query)).toMatchObject({ code: 400, body: { code: 'invalid-argument' } });
  expect(await ask('?tracker=none')).toMatchObject({ code: 404, body: { code: 'not-found' } });
});

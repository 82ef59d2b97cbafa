// gRPC over real sockets: health, reflection, tokens, errors, limits.
import { fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { compressionAlgorithms, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Secret } from '../config/secret.js';
import {
  collect,
  createEchoClient,
  createHealthClient,
  createReflectionClient,
  type EchoClient,
  type HealthClient,
  type ReflectionAnswer,
  say,
  withToken,
} from '../testing/echo-client.js';
import { ECHO_SERVICE } from '../testing/echo-service.js';
import { EchoSlice } from '../testing/echo-slice.js';
import { openRawClient } from '../testing/raw-client.js';
import { startTestServer, type TestServer } from '../testing/test-server.js';
import { until } from '../testing/until.js';

describe('without a token', () => {
  const slice = new EchoSlice({ listeners: ['grpc'] });
  let server: TestServer;
  let echo: EchoClient;
  let health: HealthClient;
  beforeAll(async () => {
    server = await startTestServer([slice]);
    echo = createEchoClient(server.port('grpc'));
    health = createHealthClient(server.port('grpc'));
  });
  afterAll(async () => {
    echo.close();
    health.close();
    await server.stop();
  });

  const check = (service: string): Promise<string | number | undefined> =>
    new Promise((resolve) => {
      health.check({ service }, (error, value) => resolve(error ? error.code : value.status));
    });

  test('unary, server-streaming and bidirectional calls work', async () => {
    expect(await say(echo, 'hello')).toEqual({ text: 'hello' });
    expect(await collect(echo.repeat({ text: 'again' }, withToken()))).toMatchObject({
      messages: [{ text: 'again' }],
    });
    const chat = echo.chat(withToken());
    const answers = collect(chat);
    chat.write({ text: 'a' });
    chat.write({ text: 'b' });
    chat.end();
    expect((await answers).messages.map(({ text }) => text)).toEqual(['a', 'b']);
  });

  test('health follows the readiness of the slice behind each service', async () => {
    expect(await check('')).toBe('SERVING');
    expect(await check(ECHO_SERVICE)).toBe('SERVING');
    expect(await check('no.such.Service')).toBe(status.NOT_FOUND);
    slice.health = { kind: 'not-ready', reason: 'loading' };
    expect(await check(ECHO_SERVICE)).toBe('NOT_SERVING');
    expect(await check('')).toBe('NOT_SERVING');
    slice.health = { kind: 'ready' };
    const list = await new Promise((resolve) => {
      health.list({}, (_error, value) => resolve(value.statuses));
    });
    expect(list).toEqual({ '': { status: 'SERVING' }, [ECHO_SERVICE]: { status: 'SERVING' } });
  });

  test('a health watcher receives each change', async () => {
    const seen: string[] = [];
    const watch = health.watch({ service: ECHO_SERVICE });
    watch.on('data', (message: { readonly status: string }) => seen.push(message.status));
    watch.on('error', () => undefined);
    await until(() => seen.length === 1, 'the first status');
    slice.health = { kind: 'not-ready', reason: 'loading' };
    await until(() => seen.length === 2, 'the change');
    slice.health = { kind: 'ready' };
    await until(() => seen.length === 3, 'the change back');
    watch.cancel();
    expect(seen).toEqual(['SERVING', 'NOT_SERVING', 'SERVING']);
  });

  test.each(['v1', 'v1alpha'] as const)('reflection %s lists and describes', async (version) => {
    const client = createReflectionClient(version, server.port('grpc'));
    const stream = client.serverReflectionInfo(withToken());
    const answers: ReflectionAnswer[] = [];
    stream.on('data', (answer: ReflectionAnswer) => answers.push(answer));
    stream.on('error', () => undefined);
    stream.write({ listServices: '*' });
    stream.write({ fileContainingSymbol: ECHO_SERVICE });
    stream.write({ fileContainingSymbol: 'no.such.Thing' });
    await until(() => answers.length === 3, 'three answers');
    stream.end();
    client.close();
    const names = answers[0]?.listServicesResponse?.service.map(({ name }) => name);
    expect(names?.toSorted()).toEqual(['grpc.health.v1.Health', ECHO_SERVICE].toSorted());
    const [file] = answers[1]?.fileDescriptorResponse?.fileDescriptorProto ?? [];
    expect(fromBinary(FileDescriptorProtoSchema, file ?? new Uint8Array()).service[0]?.name).toBe(
      'EchoService',
    );
    expect(answers[2]?.errorResponse?.errorCode).toBe(status.NOT_FOUND);
  });

  test('an error is sent as its status, with code and outcome in the trailer', async () => {
    for (const [text, code] of [
      ['not-found', status.NOT_FOUND],
      ['fenced', status.FAILED_PRECONDITION],
      ['overloaded', status.RESOURCE_EXHAUSTED],
    ] as const) {
      const { error } = await say(echo, text);
      expect(error?.code).toBe(code);
      expect(error?.metadata.get('syncline-code')).toEqual([text]);
      const streamed = await collect(echo.repeat({ text }, withToken()));
      expect(streamed.error?.code).toBe(code);
      expect(streamed.error?.metadata.get('syncline-code')).toEqual([text]);
    }
  });

  test('a bug is reported as INTERNAL, reveals nothing, and is logged', async () => {
    for (const { error } of [
      await say(echo, 'bug'),
      await collect(echo.repeat({ text: 'bug' }, withToken())),
    ]) {
      expect(error?.code).toBe(status.INTERNAL);
      expect(error?.details).not.toContain('secret insides');
      expect(error?.metadata.get('syncline-outcome')).toEqual(['unknown']);
    }
    const logged = server.log.filter(({ msg }) => msg === 'handler failed');
    expect(logged.map(({ fields }) => fields['method'])).toEqual([
      `/${ECHO_SERVICE}/Say`,
      `/${ECHO_SERVICE}/Repeat`,
    ]);
  });

  test('a message above 1 MiB is refused, a smaller one is accepted', async () => {
    expect((await say(echo, 'x'.repeat(1024 * 1024 - 16))).text?.length).toBe(1024 * 1024 - 16);
    expect((await say(echo, 'x'.repeat(1024 * 1024))).error?.code).toBe(status.RESOURCE_EXHAUSTED);
  });

  test('compressed messages are not supported', async () => {
    const client = createEchoClient(server.port('grpc'), {
      channel: { 'grpc.default_compression_algorithm': compressionAlgorithms.gzip },
    });
    expect((await say(client, 'hello')).error?.code).toBe(status.UNIMPLEMENTED);
    client.close();
  });

  test('the 101st call on a connection waits until one of the first 100 ends', async () => {
    const client = createEchoClient(server.port('grpc'));
    const streams = Array.from({ length: 101 }, () =>
      client.repeat({ text: 'forever' }, withToken()),
    );
    let answered = 0;
    for (const stream of streams) {
      stream.on('error', () => undefined);
      stream.once('data', () => {
        answered += 1;
      });
    }
    await until(() => answered === 100, '100 streams');
    streams[0]?.cancel();
    await until(() => answered === 101, 'the last one');
    for (const stream of streams) stream.cancel();
    client.close();
  });

  test('calls are counted by method and status', async () => {
    await say(echo, 'hello');
    await say(echo, 'not-found');
    const metrics = await fetch(`http://127.0.0.1:${server.port('http')}/metrics`);
    const text = await metrics.text();
    expect(text).toMatch(/grpc_calls_total\{method="\/toy\.v1\.EchoService\/Say",status="OK"\} \d/);
    expect(text).toMatch(/grpc_calls_total\{method="[^"]+Say",status="NOT_FOUND"\} \d/);
  });
});

describe('with a token', () => {
  let server: TestServer;
  beforeAll(async () => {
    const slice = new EchoSlice({ listeners: ['grpc'] });
    server = await startTestServer([slice], { credentials: { token: new Secret('right') } });
  });
  afterAll(() => server.stop());

  test('every kind of call requires it, including reflection but not health', async () => {
    const echo = createEchoClient(server.port('grpc'));
    for (const token of [undefined, 'wrong']) {
      const metadata = withToken(token);
      expect((await say(echo, 'a', metadata)).error?.code).toBe(status.UNAUTHENTICATED);
      const repeated = await collect(echo.repeat({ text: 'a' }, metadata));
      expect(repeated.error?.code).toBe(status.UNAUTHENTICATED);
      const chat = await collect(echo.chat(metadata));
      expect(chat.error?.code).toBe(status.UNAUTHENTICATED);
    }
    expect(await say(echo, 'a', withToken('right'))).toEqual({ text: 'a' });
    const reflection = createReflectionClient('v1', server.port('grpc'));
    const asked = await collect(reflection.serverReflectionInfo(withToken()));
    expect(asked.error?.code).toBe(status.UNAUTHENTICATED);
    const health = createHealthClient(server.port('grpc'));
    const answer = await new Promise((resolve) => {
      health.check({ service: '' }, (_error, value) => resolve(value.status));
    });
    expect(answer).toBe('SERVING');
    for (const client of [echo, reflection, health]) client.close();
  });
});

describe('limits', () => {
  test('connections above the limit are closed immediately', async () => {
    const slice = new EchoSlice({ listeners: ['grpc'] });
    await using server = await startTestServer([slice], {
      settings: { grpc: { connectionsMax: 1 } },
    });
    await using first = await openRawClient(server.port('grpc'));
    await using second = await openRawClient(server.port('grpc'));
    await second.closed;
    expect(second.text()).toBe('');
    expect(first.text().length).toBeGreaterThan(0); // the initial SETTINGS frame of HTTP/2
  });

  test('a connection without calls is closed after the idle timeout', async () => {
    const slice = new EchoSlice({ listeners: ['grpc'] });
    await using server = await startTestServer([slice], {
      settings: { grpc: { idleTimeoutMs: 200 } },
    });
    const echo = createEchoClient(server.port('grpc'));
    await say(echo, 'hello');
    const metrics = async () =>
      await (await fetch(`http://127.0.0.1:${server.port('http')}/metrics`)).text();
    expect(await metrics()).toMatch(/connections_total\{listener="grpc",result="accepted"\} 1\n/);
    const isClosed = async () => /connections\{listener="grpc"\} 0\n/.test(await metrics());
    await until(isClosed, 'the idle connection is closed');
    expect(await say(echo, 'and connects again')).toEqual({ text: 'and connects again' });
    echo.close();
  });
});

import {
  Client,
  credentials,
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  type MethodDefinition,
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptor,
  type ServiceDefinition,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { createSystemRandom } from '@syncline/kernel';
import { afterEach, expect, test, vi } from 'vitest';
import type { FairTracker } from '../fair-tracker.js';
import { createFairTracker } from '../tracker.js';
import type { FairTrackerOptions } from '../tracker-options.js';
import { type FairInterceptorOptions, fairServerInterceptor } from './grpc-interceptor.js';
import { encodeRetryStatus } from './grpc-rejection.js';

const DEADLINE = { timeout: 60_000 };
const random = { ...createSystemRandom(), float: () => 0.99 };

const same = (bytes: Buffer) => bytes;

function methodOf(path: string, responseStream: boolean): MethodDefinition<Buffer, Buffer> {
  return {
    path,
    requestStream: false,
    responseStream,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  };
}

const unary = methodOf('/test.Echo/Unary', false);
const stream = methodOf('/test.Echo/Stream', true);
const service: ServiceDefinition = { unary, stream };

/** Answers with the status that the request names; 0 is OK. */
const answerUnary: handleUnaryCall<Buffer, Buffer> = (call, callback) => {
  const code = call.request[0] ?? 0;
  if (code === 0) callback(null, Buffer.from('served'));
  else callback({ code, details: 'as asked' });
};

const closers: (() => void)[] = [];

afterEach(() => {
  for (const close of closers.splice(0).toReversed()) close();
});

interface Setup {
  readonly interceptors: ServerInterceptor[];
  readonly answerStream?: handleServerStreamingCall<Buffer, Buffer>;
}

async function serve({ interceptors, answerStream = (call) => call.end() }: Setup) {
  const server = new Server({ interceptors });
  server.addService(service, { unary: answerUnary, stream: answerStream });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  closers.push(
    () => server.forceShutdown(),
    () => client.close(),
  );
  return client;
}

function ask(client: Client, tenant: string, code = 0): Promise<string> {
  const metadata = new Metadata();
  metadata.set('tenant', tenant);
  return new Promise((resolve, reject) => {
    const request = Buffer.from([code]);
    client.makeUnaryRequest(unary.path, same, same, request, metadata, (error, answer) =>
      error === null ? resolve(String(answer)) : reject(error),
    );
  });
}

async function errorOf(answer: Promise<unknown>): Promise<ServiceError> {
  return await answer.then(
    () => {
      throw new Error('the call succeeded');
    },
    (error: ServiceError) => error,
  );
}

/**
 * `blocked` is at probability 1 without decay: every draw throttles it, and none throttles a caller with a few
 * failures.
 */
function createTracker(options: FairTrackerOptions = {}) {
  const tracker = createFairTracker({ ...options, lambdaPerSecond: 0 }, { random });
  return { tracker, report: vi.spyOn(tracker, 'report') };
}

function block(tracker: FairTracker, key: string): void {
  for (let failures = 0; failures < 30; failures += 1) tracker.report(key, 'failure');
}

const byTenant: FairInterceptorOptions = {
  keyGenerator: ({ metadata }) => String(metadata.get('tenant')[0] ?? ''),
};

test('F40 the status decides: OK, exhausted, unavailable, anything else', async () => {
  const { tracker, report } = createTracker();
  const strict = createTracker();
  const client = await serve({
    interceptors: [
      fairServerInterceptor(tracker, byTenant),
      fairServerInterceptor(strict.tracker, { ...byTenant, unavailableIsFailure: true }),
    ],
  });
  expect(await ask(client, 'a')).toBe('served');
  for (const code of [status.RESOURCE_EXHAUSTED, status.UNAVAILABLE, status.INVALID_ARGUMENT]) {
    expect(await errorOf(ask(client, 'a', code))).toMatchObject({ code, details: 'as asked' });
  }
  const outcomes = (spy: typeof report) => spy.mock.calls.map(([, outcome]) => outcome);
  expect(outcomes(report)).toEqual(['success', 'failure', 'ignore', 'ignore']);
  expect(outcomes(strict.report)).toEqual(['success', 'failure', 'failure', 'ignore']);
});

test('F40 a throttled call gets RESOURCE_EXHAUSTED with its retry info and is not reported', async () => {
  const { tracker, report } = createTracker();
  block(tracker, 'noisy');
  report.mockClear();
  const client = await serve({ interceptors: [fairServerInterceptor(tracker, byTenant)] });
  const { code, details, metadata } = await errorOf(ask(client, 'noisy'));
  const message = 'This caller takes more than its fair share. Try again in 30 s.';
  expect(code).toBe(status.RESOURCE_EXHAUSTED);
  expect(details).toBe(message);
  expect(metadata.get('grpc-retry-pushback-ms')).toEqual(['30000']);
  expect(metadata.get('grpc-status-details-bin')).toEqual([
    encodeRetryStatus({ code: 8, message, retryAfterMs: 30_000 }),
  ]);
  expect(metadata.get('syncline-code')).toEqual(['throttled']);
  expect(report).not.toHaveBeenCalled();
  expect(await ask(client, 'quiet')).toBe('served');
  expect(report.mock.calls).toEqual([['quiet', 'success', { cost: 1 }]]);
});

test('without a keyGenerator the address of the peer is the key', async () => {
  const { tracker } = createTracker();
  const client = await serve({ interceptors: [fairServerInterceptor(tracker)] });
  expect(await ask(client, 'a')).toBe('served');
  block(tracker, '127.0.0.1');
  expect((await errorOf(ask(client, 'a'))).code).toBe(status.RESOURCE_EXHAUSTED);
});

test('F40 a rejection of another tracker is not reported as a failure', async () => {
  const outer = createTracker();
  const inner = createTracker();
  block(inner.tracker, 'noisy');
  const interceptors = [outer, inner].map(({ tracker }) =>
    fairServerInterceptor(tracker, byTenant),
  );
  const client = await serve({ interceptors });
  expect((await errorOf(ask(client, 'noisy'))).code).toBe(status.RESOURCE_EXHAUSTED);
  expect(outer.report.mock.calls).toEqual([['noisy', 'ignore', { cost: 1 }]]);
});

test('F40 shadow mode and the allow list let a noisy caller through and report nothing of it', async () => {
  const { tracker, report } = createTracker({ shadow: true, allowList: ['health'] });
  block(tracker, 'noisy');
  report.mockClear();
  const client = await serve({ interceptors: [fairServerInterceptor(tracker, byTenant)] });
  expect(await ask(client, 'noisy')).toBe('served');
  expect(await ask(client, 'health')).toBe('served');
  expect(report.mock.calls.map(([key]) => key)).not.toContain('noisy');
});

test('F40 a stream counts at its end, one that the client cancelled is ignored', async () => {
  const { tracker, report } = createTracker();
  const client = await serve({
    interceptors: [fairServerInterceptor(tracker, byTenant)],
    answerStream: (call) => {
      call.write(Buffer.from('first'));
      if (call.metadata.get('tenant')[0] === 'patient') call.end();
    },
  });
  const open = (tenant: string) => {
    const metadata = new Metadata();
    metadata.set('tenant', tenant);
    return client.makeServerStreamRequest(stream.path, same, same, Buffer.alloc(0), metadata);
  };
  expect((await open('patient').toArray()).map(String)).toEqual(['first']);
  await vi.waitFor(() => expect(report).toHaveBeenCalledOnce(), DEADLINE);
  const hasty = open('hasty');
  for await (const _ of hasty.iterator({ destroyOnReturn: false })) break;
  hasty.on('error', () => {}); // CANCELLED
  hasty.cancel();
  await vi.waitFor(() => expect(report).toHaveBeenCalledTimes(2), DEADLINE);
  expect(report.mock.calls.map(([key, outcome]) => [key, outcome])).toEqual([
    ['patient', 'success'],
    ['hasty', 'ignore'],
  ]);
});

test('F40 a call that is cancelled while its key is computed is ignored, and its method never runs', async () => {
  const { tracker, report } = createTracker();
  let found: (key: string) => void = () => {};
  const keyGenerator = vi.fn(() => new Promise<string>((resolve) => (found = resolve)));
  const answerStream = vi.fn();
  const onCancel = vi.fn();
  const watch: ServerInterceptor = (_method, call) =>
    new ServerInterceptingCall(call, { start: (next) => next({ onCancel }) });
  const client = await serve({
    interceptors: [watch, fairServerInterceptor(tracker, { keyGenerator })],
    answerStream,
  });
  const call = client.makeServerStreamRequest(stream.path, same, same, Buffer.alloc(0));
  call.on('error', () => {}); // CANCELLED
  await vi.waitFor(() => expect(keyGenerator).toHaveBeenCalled(), DEADLINE);
  call.cancel();
  await vi.waitFor(() => expect(onCancel).toHaveBeenCalled(), DEADLINE);
  expect(report).not.toHaveBeenCalled();
  found('hasty');
  await vi.waitFor(() => expect(report).toHaveBeenCalled(), DEADLINE);
  expect(report.mock.calls).toEqual([['hasty', 'ignore', { cost: 1 }]]);
  expect(answerStream).not.toHaveBeenCalled();
});

test.each(['keyGenerator', 'skip', 'cost', 'handler'] as const)(
  'F41 what %s throws ends the call as if its method had thrown it',
  async (name) => {
    const { tracker, report } = createTracker();
    block(tracker, 'noisy');
    report.mockClear();
    const errors = [
      { error: new Error('a bug'), code: status.UNKNOWN },
      {
        error: Object.assign(new Error('a bug'), { code: status.UNAUTHENTICATED }),
        code: status.UNAUTHENTICATED,
      },
    ];
    for (const { error, code } of errors) {
      const broken = () => {
        throw error;
      };
      const options = { ...byTenant, [name]: broken };
      const client = await serve({ interceptors: [fairServerInterceptor(tracker, options)] });
      expect(await errorOf(ask(client, 'noisy'))).toMatchObject({ code, details: 'a bug' });
    }
    expect(report).not.toHaveBeenCalled();
  },
);

test('a handler can answer with its own status', async () => {
  const { tracker } = createTracker();
  block(tracker, 'noisy');
  const handler: FairInterceptorOptions['handler'] = (_request, { decision }) => ({
    code: status.UNAVAILABLE,
    details: `wait ${decision.retryAfterMs} ms`,
  });
  const client = await serve({
    interceptors: [fairServerInterceptor(tracker, { ...byTenant, handler })],
  });
  expect(await errorOf(ask(client, 'noisy'))).toMatchObject({
    code: status.UNAVAILABLE,
    details: 'wait 30000 ms',
  });
});

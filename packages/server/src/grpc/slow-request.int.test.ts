// A call whose message does not arrive, over a raw HTTP/2 connection.
import { connect } from 'node:http2';
import { createSystemClock, silentLogger, silentMetrics } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { GuessBudget } from '../auth/guess-budget.js';
import { LimitWatch } from '../limit-watch.js';
import { Readiness } from '../readiness.js';
import { ECHO_SERVICE, echoDefinition, echoDescriptors } from '../testing/echo-service.js';
import { UnsentWatch } from '../unsent-watch.js';
import { openGrpcListener } from './grpc-listener.js';

test('a unary call whose request does not arrive in time ends with DEADLINE_EXCEEDED', async () => {
  const base = { clock: createSystemClock(), logger: silentLogger, metrics: silentMetrics };
  const limits = new LimitWatch(base);
  const guesses = new GuessBudget({ ...base, limits });
  const readiness = new Readiness({ ...base, draining: new AbortController().signal });
  const listener = await openGrpcListener(
    {
      ...base,
      limits,
      readiness,
      isTokenValid: () => true,
      guesses,
      unsent: new UnsentWatch({ ...base, limits }),
    },
    {
      address: { host: '127.0.0.1', port: 0 },
      tls: undefined,
      connectionsMax: 10,
      timeouts: { requestTimeoutMs: 100, idleTimeoutMs: 0 },
      services: [
        {
          slice: 'echo',
          service: {
            name: ECHO_SERVICE,
            definition: echoDefinition,
            implementation: {},
            fileDescriptors: echoDescriptors,
          },
        },
      ],
    },
  );
  const session = connect(`http://127.0.0.1:${listener.address.port}`);
  const open = (method: string) =>
    session.request({
      ':method': 'POST',
      ':path': `/${ECHO_SERVICE}/${method}`,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
  const stream = open('Say');
  stream.write(Buffer.from([0, 0, 0, 0, 9, 1])); // announces nine bytes, sends one
  const headers = await new Promise<Record<string, unknown>>((resolve) => {
    stream.once('response', resolve);
  });
  expect(headers['grpc-status']).toBe('4');
  expect(limits.reachedLimits()).toMatchObject([{ limit: 'grpcRequestTimeoutMs', count: 1 }]);
  const unknown = open('NoSuchMethod');
  unknown.end();
  const refused = await new Promise<Record<string, unknown>>((resolve) => {
    unknown.once('response', resolve);
  });
  expect(refused['grpc-status']).toBe('12');
  session.destroy();
  await listener.close(AbortSignal.abort());
});

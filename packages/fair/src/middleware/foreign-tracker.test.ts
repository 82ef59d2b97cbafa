// Every middleware refuses a tracker that is missing or is none, when it is created.
import fastify from 'fastify';
import { expect, test } from 'vitest';
import type { FairTracker } from '../fair-tracker.js';
import { fairConnect } from './connect-middleware.js';
import { fairExpress } from './express-middleware.js';
import { type FairFastifyOptions, fairFastify } from './fastify-plugin.js';
import { withFair } from './fetch-handler.js';
import { fairServerInterceptor } from './grpc-interceptor.js';

const create: Record<string, (tracker: FairTracker) => unknown> = {
  fairConnect: (tracker) => fairConnect(tracker),
  fairExpress: (tracker) => fairExpress(tracker),
  fairServerInterceptor: (tracker) => fairServerInterceptor(tracker),
  withFair: (tracker) =>
    withFair(tracker, () => Promise.resolve(new Response()), { keyGenerator: () => 'a' }),
};

const WRONG = [
  [undefined, 'undefined'],
  [null, 'null'],
  [{ keyGenerator: () => 'a' }, 'of type object'],
  [() => 'a', 'of type function'],
] as const;

test('fairFastify', async () => {
  const app = fastify();
  const ready = app.register(fairFastify, {} as unknown as FairFastifyOptions).ready();
  await expect(ready).rejects.toMatchObject({ details: { field: 'tracker' } });
  await app.close();
});

test('withFair without a tracker: its other arguments are in the wrong place', () => {
  const wrong = withFair as unknown as (...given: unknown[]) => unknown;
  expect(() => wrong(() => undefined, { keyGenerator: () => 'a' })).toThrow(
    'expected the result of createFairTracker',
  );
});

test.each(Object.keys(create))('%s', (name) => {
  for (const [tracker, shown] of WRONG)
    expect(() => create[name]?.(tracker as unknown as FairTracker)).toThrow(
      expect.objectContaining({
        code: 'invalid-argument',
        details: { field: 'tracker' },
        message: `invalid option tracker = ${shown} for @syncline/fair; expected the result of createFairTracker`,
      }),
    );
});

import { expect, test } from 'vitest';
import { fairLimits } from '../limits.js';
import { createServiceRig, type RigClient } from '../testing/service-rig.js';

const { value: trackersMax } = fairLimits.trackersMax;

function greeted(connect: () => RigClient, tracker: string): RigClient {
  const client = connect();
  client.hello(tracker, 'one');
  return client;
}

test('a tracker without streams and cells makes room for a new name, and no other does', () => {
  const { connect, service } = createServiceRig();
  const names = Array.from({ length: trackersMax }, (_, index) => `t${index}`);
  const [written, joined, ...rest] = names.map((name) => greeted(connect, name));
  written?.deltas([[0, 0, 0.5]]);
  written?.hangUp();
  expect(greeted(connect, 'early').error?.details).toMatchObject({ limit: 'trackersMax' });
  for (const client of rest) client.hangUp();
  const late = rest.map((_, index) => greeted(connect, `late${index}`));
  expect(late.map(({ error }) => error)).toEqual(rest.map(() => undefined));
  expect(greeted(connect, 'last').error?.details).toMatchObject({ limit: 'trackersMax' });
  expect(joined?.error).toBeUndefined();
  const known = service.describe(0).namespaces.map(({ tracker }) => tracker);
  expect(known.slice(1)).toEqual(['t0', 't1', ...rest.map((_, index) => `late${index}`)]);
});

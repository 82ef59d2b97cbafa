// Every crash point of a pipeline that writes to a Redis stream and to Redis keys. The scripts of the sinks run
// in a simulated Redis, which outlives the crashes.
import { definePipeline, memorySource, type OutboxRow } from '@syncline/streams';
import { redisKvSink, redisStreamSink } from '@syncline/streams/redis';
import { type CrashSubject, crashTest } from '@syncline/streams/testing';
import { expect, inject, test } from 'vitest';
import { SimulatedRedis } from './simulated-redis.js';

const records = Array.from({ length: 80 }, (_, index) => ({ user: `u${index % 5}`, n: index }));

function subject(): CrashSubject {
  const redis = new SimulatedRedis();
  const { client } = redis;
  return {
    pipeline: definePipeline('orders', (p) => {
      const totals = p
        .source(memorySource({ uid: 'in', batchItems: 5, partitions: { a: records } }))
        .keyBy(({ user }) => user)
        .reduce({ uid: 'totals', initial: () => 0, add: (sum: number, { n }) => sum + n });
      // Otherwise ids would differ after a crash before the pipeline had its own id.
      const fields = ({ value }: OutboxRow) => ({ value: JSON.stringify(value) });
      totals.to(redisStreamSink({ uid: 'stream', stream: 'out', client, fields }));
      totals.to(
        redisKvSink({
          uid: 'keys',
          prefix: '{kv}:',
          client,
          // One row per total, and a counter of rows: an increment must not be repeated.
          write: ({ key, value }) => [
            { kind: 'set', key: `${String(key)}:${JSON.stringify(value)}`, value: 'x' },
            { kind: 'increment-field', key: 'count', field: 'rows', by: 1 },
          ],
        }),
      );
    }),
    async output() {
      const counted = Number(redis.hashOf('{kv}:count').get('rows') ?? 0);
      return {
        stream: redis
          .entriesOf('out')
          .map((line) => `${line}\n`)
          .join(''),
        counted: '#'.repeat(counted),
        keys: '#'.repeat(redis.valuesOf('{kv}:').length),
      };
    },
  };
}

/** The interpreter makes these runs slower than the others. */
const statesMax = Math.ceil(inject('streamsCrashStates') / 4);

test('X40 Redis streams and keys: a crash at any step loses and repeats no row', async ({
  annotate,
}) => {
  const report = await crashTest(subject, {
    statesMax,
    chains: Math.min(Math.ceil(statesMax / 4), 100),
    chainCrashes: 8,
    start: { keyGroups: 4 },
  });
  await annotate(JSON.stringify(report));
  expect(report.failures).toEqual([]);
  expect(report.states).toBeGreaterThanOrEqual(Math.min(statesMax, report.points));
}, 1_800_000);

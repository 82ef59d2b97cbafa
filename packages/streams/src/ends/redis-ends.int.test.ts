import type { ConformanceCase } from '@syncline/kernel/testing';
import type { RedisServer } from '@syncline/testkit';
import { loadEdited, startRedis } from '@syncline/testkit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sinkSuite } from '../conformance/sink-suite.js';
import { sourceSuite } from '../conformance/source-suite.js';
import * as code from '../redis.js';
import { type RedisPosition, redisKvSink, redisStreamSink, redisStreamSource } from '../redis.js';
import type { Fence, OutboxPart } from './sink.js';
import type { Json, SourceBatch } from './source.js';

let redis: RedisServer;
let admin: Redis;

beforeAll(async () => {
  redis = await startRedis();
  admin = new Redis(redis.url);
});
beforeEach(() => admin.flushall());
afterAll(async () => {
  admin.disconnect();
  await redis[Symbol.asyncDispose]();
});

const signal = new AbortController().signal;
const unreachable = { code: 'unavailable', retryable: true };
const fence: Fence = { pipeline: 'p', generation: 1, attempt: 0, token: 't1' };

function part(epoch: number, values: readonly Json[], more: Partial<OutboxPart> = {}): OutboxPart {
  const rows = values.map((value, index) => ({ id: `${epoch}/${index}`, key: 'k', value }));
  return { epoch, part: 0, isLast: true, first: 0, rows, ...more };
}

async function addRecords(stream: string, ...values: readonly Json[]): Promise<void> {
  for (const value of values) await admin.xadd(stream, '*', 'value', JSON.stringify(value));
}

async function valuesIn(stream: string): Promise<readonly Json[]> {
  const entries = await admin.xrange(stream, '-', '+');
  return entries.map(([, fields]) => JSON.parse(fields.at(-1) ?? 'null') as Json);
}

async function nextBatch(
  from: SourceBatch<Json>['position'] | null,
  options: { readonly allowGaps?: boolean } = {},
): Promise<SourceBatch<Json>> {
  const source = redisStreamSource<Json>({
    uid: 'in',
    url: redis.url,
    streams: ['in'],
    ...options,
  });
  const position = from as { readonly id: string; readonly crc: number } | null;
  for await (const batch of source.read('in', position, signal)) return batch;
  throw new Error('the source ended');
}

const losses = {
  'trimmed past the position': async () => void (await admin.xtrim('in', 'MAXLEN', 2)),
  deleted: async () => void (await admin.del('in')),
  'emptied and filled again': async () => {
    await admin.xtrim('in', 'MAXLEN', 0);
    await addRecords('in', 1, 2, 3);
  },
  'created again with the same ids': async () => {
    const entries = await admin.xrange('in', '-', '+');
    await admin.del('in');
    for (const [id] of entries) await admin.xadd('in', id, 'value', '"other"');
  },
  'an entry behind the position deleted': async () => {
    const last = (await admin.xrevrange('in', '+', '-', 'COUNT', 1))[0]?.[0] ?? '';
    await admin.xdel('in', last);
  },
  flushed: async () => void (await admin.flushall()),
};

type Code = typeof code;

const sourceCases = (by: Code) =>
  sourceSuite(async () => {
    await admin.flushall();
    return {
      open: () =>
        by.redisStreamSource<Json>({ uid: 'in', url: redis.url, streams: ['in'], ack: 'trim' }),
      partition: 'in',
      append: (records) => addRecords('in', ...records),
      appendBad: async () => void (await admin.xadd('in', '*', 'value', '{broken')),
      losses,
      [Symbol.asyncDispose]: async () => {},
    };
  }, Object.keys(losses));

const streamSinkCases = (by: Code) =>
  sinkSuite(
    async () => {
      await admin.flushall();
      return {
        open: () => by.redisStreamSink({ uid: 'out', url: redis.url, stream: 'out' }),
        visible: () => valuesIn('out'),
        [Symbol.asyncDispose]: async () => {},
      };
    },
    { remembers: true },
  );

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Each row sets a field and increments a counter, which reveals rows that are applied twice. */
const kvSinkCases = (by: Code) =>
  sinkSuite(
    async () => {
      await admin.flushall();
      const open = () =>
        by.redisKvSink({
          uid: 'kv',
          url: redis.url,
          prefix: 'kv:',
          write: ({ value }) => [
            { kind: 'set-field', key: 'rows', field: textOf(value), value: textOf(value) },
            { kind: 'increment-field', key: 'total', field: 'count', by: 1 },
          ],
        });
      const visible = async () => {
        const rows = Object.values(await admin.hgetall('kv:rows')).map(Number);
        const count = Number((await admin.hget('kv:total', 'count')) ?? 0);
        expect(count, 'each row was counted once').toBe(rows.length);
        return rows.sort((left, right) => left - right);
      };
      return { open, visible, [Symbol.asyncDispose]: async () => {} };
    },
    { remembers: true },
  );

/** Entries above 2^53, one of which is deleted after the position. */
async function readBigIds(by: Code): Promise<void> {
  const big = '9007199254740993';
  const options = { uid: 'in', url: redis.url, streams: ['in'] };
  await admin.flushall();
  await admin.xadd('in', `${big}-1`, 'value', '1');
  await admin.xadd('in', `${big}-18446744073709551614`, 'value', '2');
  const { position } = await nextBatch(null);
  expect(position).toMatchObject({ id: `${big}-18446744073709551614` });
  await admin.xadd('in', `${big}-18446744073709551615`, 'value', '3');
  await admin.xadd('in', '9007199254740994-1', 'value', '4');
  await admin.xdel('in', `${big}-18446744073709551615`);
  const source = by.redisStreamSource<Json>(options);
  const at = position as { readonly id: string; readonly crc: number };
  await expect(source.check('in', at, signal)).rejects.toMatchObject({ code: 'position-lost' });
  await source.close?.();
  expect((await nextBatch(position, { allowGaps: true })).items).toEqual([4]);
}

/** Epoch 2 and half of 3 are acknowledged, and gone when Redis comes back. */
async function loseEpochs(by: Code): Promise<void> {
  await using own = await startRedis();
  const client = new Redis(own.url, { maxRetriesPerRequest: 50 });
  client.on('error', () => undefined);
  const sink = by.redisStreamSink({ uid: 'out', url: own.url, stream: 'out' });
  const next = by.redisStreamSink({ uid: 'out', url: own.url, stream: 'out' });
  try {
    await sink.claim?.(fence, signal);
    await sink.deliver(part(1, [1]), fence, signal);
    await client.save();
    await sink.deliver(part(2, [2]), fence, signal);
    await sink.deliver(part(3, [3], { isLast: false }), fence, signal);
    await own.kill();
    const deliver = () => sink.deliver(part(4, [4]), fence, signal);
    await expect(deliver()).rejects.toMatchObject({ code: 'unavailable', retryable: true });
    await own.start();
    await expect(deliver()).rejects.toMatchObject({
      code: 'out-of-step',
      details: { sinkEpoch: 1 },
    });
    const later = { ...fence, generation: 2, token: 't2' };
    expect(await next.claim?.(later, signal)).toMatchObject({ epoch: 1, generation: 1 });
    for (const epoch of [1, 2, 3, 4]) await next.deliver(part(epoch, [epoch]), later, signal);
    const entries = await client.xrange('out', '-', '+');
    expect(entries.map(([id]) => id)).toEqual(['1-0', '2-0', '3-0', '4-0']);
  } finally {
    await sink.close?.();
    await next.close?.();
    client.disconnect();
  }
}

describe('redisStreamSource', () => {
  test.each(sourceCases(code))('$name', ({ run }) => run());

  test('a waiting reader receives entries as they are added; a lost connection is a retryable error', async () => {
    const source = redisStreamSource<Json>({ uid: 'in', url: redis.url, streams: ['in'] });
    const batches = source.read('in', null, signal)[Symbol.asyncIterator]();
    const waiting = batches.next();
    await addRecords('in', 'first');
    const { items, position } = (await waiting).value as SourceBatch<Json>;
    expect(items).toEqual(['first']);
    const lost = expect(batches.next()).rejects.toMatchObject(unreachable);
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await lost;
    await addRecords('in', 'second');
    expect((await nextBatch(position)).items).toEqual(['second']);
  });

  test('ack: trim removes what is before the position and keeps the entry at it', async () => {
    await addRecords('in', 1, 2, 3, 4);
    const { position } = await nextBatch(null);
    await addRecords('in', 5);
    const source = redisStreamSource<Json>({
      uid: 'in',
      url: redis.url,
      streams: ['in'],
      ack: 'trim',
    });
    const positions = new Map([['in', position as { id: string; crc: number }]]);
    await source.ack?.(positions);
    expect(await valuesIn('in')).toEqual([4, 5]);
    expect((await nextBatch(position)).items).toEqual([5]);
    await source.close?.();
  });

  test('T28 ids beyond 2^53 are compared exactly', () => readBigIds(code));

  test('a key of another type is refused by name, and the source waits for a missing stream', async () => {
    await admin.set('in', 'text');
    await expect(nextBatch(null)).rejects.toMatchObject({ code: 'invalid-argument' });
    await admin.del('in');
    const waiting = nextBatch(null);
    await addRecords('in', 'now');
    expect((await waiting).items).toEqual(['now']);
  });

  test('large entries make small batches', async () => {
    const text = 'x'.repeat(300_000);
    await addRecords('in', ...Array.from({ length: 12 }, () => text));
    const source = redisStreamSource<Json>({
      uid: 'in',
      url: redis.url,
      streams: ['in'],
      follow: false,
    });
    const counts: number[] = [];
    for await (const { items } of source.read('in', null, signal)) counts.push(items.length);
    expect(counts).toEqual([4, 4, 4, 0]);
  });
});

describe('redisStreamSink', () => {
  const open = () => redisStreamSink({ uid: 'out', url: redis.url, stream: 'out' });
  test.each(streamSinkCases(code))('$name', ({ run }) => run());

  test('T16 a foreign entry in the stream is a conflict, before and after the first epoch', async () => {
    await admin.xadd('out', '*', 'value', '"foreign"');
    const sink = open();
    await expect(sink.claim?.(fence, signal)).rejects.toMatchObject({ code: 'conflict' });
    await admin.flushall();
    await sink.deliver(part(1, [1]), fence, signal);
    await admin.xadd('out', '*', 'value', '"foreign"');
    await expect(sink.deliver(part(2, [2]), fence, signal)).rejects.toMatchObject({
      code: 'conflict',
      details: { reason: 'foreign-output' },
    });
    expect(await valuesIn('out')).toEqual([1, 'foreign']);
    await sink.close?.();
  });

  test('a deleted guard is a conflict, and a flushed Redis is out of step, never a new beginning', async () => {
    const sink = open();
    await sink.deliver(part(1, [1]), fence, signal);
    await admin.del('{out}:syncline');
    await expect(sink.deliver(part(2, [2]), fence, signal)).rejects.toMatchObject({
      code: 'conflict',
    });
    await admin.flushall();
    await expect(sink.deliver(part(2, [2]), fence, signal)).rejects.toMatchObject({
      code: 'out-of-step',
    });
    expect(await valuesIn('out')).toEqual([]);
    await sink.close?.();
  });

  test('consumers may trim the stream', async () => {
    const sink = open();
    await sink.deliver(part(1, [1, 2]), fence, signal);
    await admin.xtrim('out', 'MAXLEN', 0);
    await sink.deliver(part(2, [3]), fence, signal);
    expect(await valuesIn('out')).toEqual([3]);
    await sink.close?.();
  });

  test('entries carry the epoch and the number of the row as their id', async () => {
    const sink = open();
    await sink.deliver(part(7, ['a', 'b']), fence, signal);
    expect(await admin.xrange('out', '-', '+')).toEqual([
      ['7-0', ['id', '7/0', 'value', '"a"']],
      ['7-1', ['id', '7/1', 'value', '"b"']],
    ]);
    await sink.close?.();
  });
});

describe('redisKvSink', () => {
  test.each(kvSinkCases(code))('$name', ({ run }) => run());

  test('sets, deletes and increments; null deletes by default', async () => {
    const sink = redisKvSink({ uid: 'kv', url: redis.url, prefix: '{t}:' });
    await sink.deliver(part(1, [{ a: 1 }]), fence, signal);
    expect(await admin.get('{t}:k')).toBe('{"a":1}');
    await sink.deliver(part(2, [null]), fence, signal);
    expect(await admin.get('{t}:k')).toBe(null);
    await sink.close?.();
  });

  test('a command that Redis refuses stops before it, and the rest is applied once, after the repair', async () => {
    const sink = redisKvSink({
      uid: 'kv',
      url: redis.url,
      prefix: 'kv:',
      write: ({ value }) => [
        { kind: 'increment-field', key: 'a', field: 'n', by: 1 },
        { kind: 'increment-field', key: textOf(value), field: 'n', by: 1 },
        { kind: 'increment-field', key: 'z', field: 'n', by: 1 },
      ],
    });
    await admin.set('kv:wrong', 'a text');
    const rows = part(1, ['b', 'wrong', 'c']);
    await expect(sink.deliver(rows, fence, signal)).rejects.toMatchObject({ code: 'conflict' });
    await expect(sink.deliver(rows, fence, signal)).rejects.toMatchObject({ code: 'conflict' });
    expect(await admin.hget('kv:a', 'n')).toBe('2');
    expect(await sink.mark()).toMatchObject({ epoch: 0, partial: 1 });
    await admin.del('kv:wrong');
    expect(await sink.deliver(rows, fence, signal)).toBe('committed');
    expect(await sink.deliver(rows, fence, signal)).toBe('already');
    const counts = ['a', 'b', 'wrong', 'c', 'z'].map((key) => admin.hget(`kv:${key}`, 'n'));
    expect(await Promise.all(counts)).toEqual(['3', '1', '1', '1', '3']);
    await sink.close?.();
  });

  test('a change of an unknown kind is a bad record, and shown', async () => {
    const write = () => [['incr', 'n']] as never;
    const sink = redisKvSink({ uid: 'kv', url: redis.url, prefix: 'kv:', write });
    await expect(sink.deliver(part(1, ['a']), fence, signal)).rejects.toMatchObject({
      code: 'bad-record',
      message: expect.stringContaining("write returned [ 'incr', 'n' ]; expected a change"),
    });
    await sink.close?.();
  });

  test('a row without a key, a fraction and the key of the guard are bad records', async () => {
    const plain = redisKvSink({ uid: 'kv', url: redis.url, prefix: 'kv:' });
    const row = { id: 'x', value: 1 };
    const one = part(1, [], { rows: [row] });
    await expect(plain.deliver(one, fence, signal)).rejects.toMatchObject({ code: 'bad-record' });
    const guardRow = part(1, [], { rows: [{ ...row, key: 'syncline:guard' }] });
    await expect(plain.deliver(guardRow, fence, signal)).rejects.toMatchObject({
      code: 'bad-record',
    });
    await plain.close?.();
  });
});

describe('a Redis that dies', () => {
  test('T17 epochs that Redis has lost are detected, and delivered again', () => loseEpochs(code));

  test('T20 a source detects that a killed server came back without its last entries', async () => {
    await using own = await startRedis();
    const client = new Redis(own.url, { maxRetriesPerRequest: 50 });
    client.on('error', () => undefined);
    await client.xadd('in', '*', 'value', '1');
    await client.save();
    await client.xadd('in', '*', 'value', '2');
    const source = redisStreamSource<Json>({ uid: 'in', url: own.url, streams: ['in'] });
    const batches = source.read('in', null, signal)[Symbol.asyncIterator]();
    const { items, position } = (await batches.next()).value as SourceBatch<Json, RedisPosition>;
    expect(items).toEqual([1, 2]);
    const broken = expect(batches.next()).rejects.toMatchObject(unreachable);
    await own.kill();
    await broken;
    await expect(source.check('in', position, signal)).rejects.toMatchObject(unreachable);
    await own.start();
    const lost = { code: 'position-lost' };
    await expect(source.check('in', position, signal)).rejects.toMatchObject(lost);
    const again = source.read('in', position, signal)[Symbol.asyncIterator]();
    await expect(again.next()).rejects.toMatchObject(lost);
    await source.close?.();
    client.disconnect();
  });

  test('an unreachable or wrong address is explained', async () => {
    const sink = redisStreamSink({ uid: 'out', url: 'redis://127.0.0.1:1', stream: 'out' });
    await expect(sink.mark()).rejects.toMatchObject({ code: 'unavailable', retryable: true });
    await expect(sink.mark()).rejects.toThrow(/cannot reach Redis \(connect ECONNREFUSED/);
    const wrong = () => redisStreamSink({ uid: 'out', url: '127.0.0.1:6379', stream: 'out' });
    expect(wrong).toThrow(/must begin with redis:\/\//);
    const braces = () => redisStreamSink({ uid: 'out', url: redis.url, stream: 'a}b' });
    expect(braces).toThrow(/braces must enclose a hash tag/);
  });
});

describe('with ioredis 5', async () => {
  const file = 'ends/redis-connection';
  const edits = [{ file, find: "} from 'ioredis';", replace: "} from 'ioredis5';" }];
  const edited = { folder: 'streams', entry: 'redis', bug: 'streams-ioredis-5', edits };
  const older = (await loadEdited(edited)) as Code;
  const cases = [...sourceCases(older), ...streamSinkCases(older), ...kvSinkCases(older)];

  test.each(cases)('$name', ({ run }) => run());

  test('T17 epochs that Redis has lost are detected, and delivered again', () => loseEpochs(older));
});

describe('planted bugs', () => {
  /** Runs the case whose name begins with this. */
  const caseOf = (list: (by: Code) => readonly ConformanceCase[], name: string) => (by: Code) => {
    const found = list(by).find((each) => each.name.includes(name));
    expect(found, name).toBeDefined();
    return found?.run() ?? Promise.resolve();
  };
  const guard = 'ends/redis-guard';
  const source = 'ends/redis-stream-source';
  test.each([
    {
      bug: 'T16 generations are not compared',
      edits: [{ file: guard, find: 'mine < theirs or', replace: 'false or' }],
      run: caseOf(streamSinkCases, 'T16 an older generation'),
    },
    {
      bug: 'T16 tokens are not compared',
      edits: [{ file: guard, find: 'held[3] ~= ARGV[3]', replace: 'false' }],
      run: caseOf(kvSinkCases, 'T16 a copy of the directory'),
    },
    {
      bug: 'T2 rows that are there are applied again',
      edits: [
        { file: guard, find: 'if epoch <= done or epoch < heldEpoch', replace: 'if false' },
        { file: guard, find: 'if row >= n and command > applied', replace: 'if command > applied' },
      ],
      run: caseOf(kvSinkCases, 'T2 a repeated commit'),
    },
    {
      bug: 'T1 an epoch that was begun counts as delivered',
      edits: [{ file: guard, find: 'epoch < heldEpoch then', replace: 'epoch <= heldEpoch then' }],
      run: caseOf(streamSinkCases, 'T1 an epoch cut short'),
    },
    {
      bug: 'T17 a loss is not noticed',
      edits: [{ file: guard, find: 'heldEpoch < leastEpoch or', replace: 'false or' }],
      run: loseEpochs,
    },
    {
      bug: 'T20 the entry at the position is not looked for',
      edits: [
        {
          file: source,
          find: 'if (entry === undefined) throw lost(describeStream(facts));',
          replace: 'if (entry === undefined) return entriesOf(behind);',
        },
      ],
      run: caseOf(sourceCases, 'T20 trimmed past'),
    },
    {
      bug: 'T20 another entry with the same id is accepted',
      edits: [{ file: source, find: 'crcOf(entry) !== position.crc', replace: 'false' }],
      run: caseOf(sourceCases, 'T20 created again'),
    },
    {
      bug: 'T20 deleted entries are not noticed',
      edits: [{ file: source, find: 'compareIds(deleted, id) > 0', replace: 'false' }],
      run: caseOf(sourceCases, 'T20 an entry behind'),
    },
    {
      bug: 'T28 ids are compared as numbers',
      edits: [
        { file: source, find: '.map(BigInt)', replace: '.map((text) => BigInt(Number(text)))' },
      ],
      run: readBigIds,
    },
  ])('$bug', async ({ bug, edits, run }) => {
    const name = `streams-${bug.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`;
    const edited = { folder: 'streams', entry: 'redis', bug: name, edits };
    await expect(run((await loadEdited(edited)) as Code)).rejects.toThrow();
  });
});

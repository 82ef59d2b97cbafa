// ioredis with its defaults, against our server and against Redis.
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type SetsTarget, TARGETS } from './sets-targets.js';

const numbers = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `member-${index}`);

describe.each(TARGETS)('$name', ({ start }) => {
  let target: SetsTarget;
  let redis: Redis;
  beforeAll(async () => {
    target = await start();
    redis = new Redis(target.port);
  });
  afterAll(async () => {
    await redis.quit();
    await target[Symbol.asyncDispose]();
  });

  test('it becomes ready, and replies have the declared types', async () => {
    expect(await redis.ping()).toBe('PONG');
    expect(redis.status).toBe('ready');
    expect(await redis.sadd('plain', 'a', 'b', 'c')).toBe(3);
    expect(await redis.sismember('plain', 'a')).toBe(1);
    expect(await redis.smismember('plain', 'a', 'z')).toEqual([1, 0]);
    expect((await redis.smembers('plain')).toSorted()).toEqual(['a', 'b', 'c']);
    expect(await redis.smove('plain', 'other', 'c')).toBe(1);
    expect(await redis.sinterstore('both', 'plain', 'other')).toBe(0);
    expect((await redis.sunion('plain', 'other')).toSorted()).toEqual(['a', 'b', 'c']);
    expect(await redis.spop('other')).toBe('c');
    expect(await redis.spop('other')).toBeNull();
    expect(await redis.del('plain', 'other')).toBe(1);
    await expect(redis.call('SADD', 'plain')).rejects.toThrow('wrong number of arguments');
  });

  test('members are bytes', async () => {
    const member = Buffer.from([0, 13, 10, 0xff, 0xfe]);
    expect(await redis.sadd('bytes', member)).toBe(1);
    expect(await redis.smembersBuffer('bytes')).toEqual([member]);
    expect(await redis.sismember('bytes', member)).toBe(1);
  });

  test('a pipeline and a transaction answer in order', async () => {
    const piped = await redis
      .pipeline()
      .sadd('piped', 'a')
      .sadd('piped', 'a')
      .call('SCARD')
      .scard('piped')
      .exec();
    expect(piped?.map(([error, value]) => error?.message.slice(0, 4) ?? value)).toEqual([
      1,
      0,
      'ERR ',
      1,
    ]);
    const done = await redis.multi().sadd('tx', 'a', 'b').srem('tx', 'a').smembers('tx').exec();
    expect(done).toEqual([
      [null, 2],
      [null, 1],
      [null, ['b']],
    ]);
    await redis.watch('tx');
    const other = redis.duplicate();
    await other.sadd('tx', 'someone else');
    expect(await redis.multi().sadd('tx', 'mine').exec()).toBeNull();
    other.disconnect();
  });

  test('many commands at once keep their order', async () => {
    const replies = await Promise.all(numbers(5_000).map((member) => redis.sadd('many', member)));
    expect(replies.every((reply) => reply === 1)).toBe(true);
    expect(await redis.scard('many')).toBe(5_000);
  });

  test('scan streams return every member and every set', async () => {
    await redis.sadd('scanned', ...numbers(2_000));
    const members = new Set<string>();
    for await (const page of redis.sscanStream('scanned', { count: 100 }))
      for (const member of page as readonly string[]) members.add(member);
    expect(members.size).toBe(2_000);
    const sets = new Set<string>();
    for await (const page of redis.scanStream({ match: 'scan*', type: 'set' }))
      for (const set of page as readonly string[]) sets.add(set);
    expect([...sets]).toEqual(['scanned']);
  });

  test('after kill -9 of our server it reconnects by itself, and the data is still there', async () => {
    const lasting = new Redis(target.port, { maxRetriesPerRequest: null }); // a start may take long
    for (const client of [redis, lasting]) client.on('error', () => undefined); // each failed attempt
    expect(await lasting.sadd('kept', 'before')).toBe(1);
    let waiting: Promise<number> | undefined;
    await target.crash(() => {
      waiting = lasting.sadd('kept', 'while it was away');
    });
    expect(await waiting).toBe(1);
    expect((await lasting.smembers('kept')).toSorted()).toEqual(['before', 'while it was away']);
    lasting.disconnect();
  });
});

describe.each(TARGETS)('$name with a password', ({ start }) => {
  test('the right one is accepted, none and a wrong one are not', async () => {
    const password = 'open-sesame-open-sesame';
    await using target = await start(password);
    const once = { retryStrategy: null, maxRetriesPerRequest: 0 };
    const right = new Redis({ port: target.port, password });
    expect(await right.sadd('a', 'b')).toBe(1);
    for (const [given, text] of [
      [{}, 'NOAUTH'],
      [{ password: 'open-barley' }, 'WRONGPASS'],
    ] as const) {
      const refused = new Redis({ port: target.port, ...given, ...once });
      refused.on('error', () => undefined);
      await expect(refused.sadd('a', 'c')).rejects.toThrow(text);
      refused.disconnect();
    }
    expect(await right.scard('a')).toBe(1);
    right.disconnect();
  });
});

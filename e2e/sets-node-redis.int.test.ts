// node-redis in both protocols, against our server and against Redis.
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type SetsTarget, TARGETS } from './sets-targets.js';

async function connect(port: number, RESP: 2 | 3, more: { readonly password?: string } = {}) {
  const client = createClient({ socket: { host: '127.0.0.1', port }, RESP, ...more });
  client.on('error', () => undefined); // it reports each failed attempt
  await client.connect();
  return client;
}

describe.each(TARGETS)('$name', ({ start }) => {
  let target: SetsTarget;
  beforeAll(async () => {
    target = await start();
  });
  afterAll(() => target[Symbol.asyncDispose]());

  describe.each([2, 3] as const)('RESP%i', (RESP) => conversation(() => target.port, RESP));

  test('after kill -9 of our server it reconnects by itself, and the data is still there', async () => {
    const client = await connect(target.port, 3);
    expect(await client.sAdd('kept', 'before')).toBe(1);
    await target.crash();
    expect(await client.sAdd('kept', 'after')).toBe(1);
    expect([...(await client.sMembers('kept'))].toSorted()).toEqual(['after', 'before']);
    await client.close();
  });
});

function conversation(port: () => number, RESP: 2 | 3): void {
  let client: Awaited<ReturnType<typeof connect>>;
  beforeAll(async () => {
    client = await connect(port(), RESP);
    await client.flushAll();
  });
  afterAll(() => client.close());

  test('replies have the declared types', async () => {
    expect(await client.ping()).toBe('PONG');
    expect(await client.sAdd('plain', ['a', 'b', 'c'])).toBe(3);
    expect(await client.sIsMember('plain', 'a')).toBe(1);
    expect(await client.smIsMember('plain', ['a', 'z'])).toEqual([1, 0]);
    expect([...(await client.sMembers('plain'))].toSorted()).toEqual(['a', 'b', 'c']);
    expect(await client.sMove('plain', 'other', 'c')).toBe(1);
    expect([...(await client.sDiff(['plain', 'other']))].toSorted()).toEqual(['a', 'b']);
    expect(await client.sInterCard(['plain', 'plain'], { LIMIT: 1 })).toBe(1);
    expect(await client.sRandMember('nothing')).toBeNull();
    expect(await client.exists(['plain', 'nothing'])).toBe(1);
    expect(await client.dbSize()).toBe(2);
    await expect(client.sendCommand(['SADD', 'plain'])).rejects.toThrow('wrong number');
  });

  test('commands of one turn are pipelined, transactions are atomic', async () => {
    const members = Array.from({ length: 5_000 }, (_, index) => String(index));
    const replies = await Promise.all(members.map((member) => client.sAdd('many', member)));
    expect(replies.every((reply) => reply === 1)).toBe(true);
    const done = await client.multi().sAdd('tx', ['a', 'b']).sCard('tx').sRem('tx', 'a').exec();
    expect(done).toEqual([2, 2, 1]);
    expect(await client.sCard('many')).toBe(5_000);
  });

  test('a touched WATCH fails the transaction', async () => {
    const other = await connect(port(), RESP);
    await client.watch('watched');
    await other.sAdd('watched', 'someone else');
    await expect(client.multi().sAdd('watched', 'mine').exec()).rejects.toThrow(/watch/i);
    await other.close();
  });

  test('iterators return every member and every set', async () => {
    const members = Array.from({ length: 2_000 }, (_, index) => `member-${index}`);
    await client.sAdd('scanned', members);
    const seen = new Set<string>();
    for await (const page of client.sScanIterator('scanned', { COUNT: 100 }))
      for (const member of page) seen.add(member);
    expect(seen.size).toBe(2_000);
    const sets = new Set<string>();
    for await (const page of client.scanIterator({ MATCH: 'scan*' }))
      for (const set of page) sets.add(set);
    expect([...sets]).toEqual(['scanned']);
  });
}

test.each(TARGETS)(
  '$name: the right password is accepted, a wrong one is not',
  async ({ start }) => {
    const password = 'open-sesame-open-sesame';
    await using target = await start(password);
    for (const RESP of [2, 3] as const) {
      const client = await connect(target.port, RESP, { password });
      expect(await client.sAdd('a', `by RESP${RESP}`)).toBe(1);
      await client.close();
      const socket = { host: '127.0.0.1', port: target.port, reconnectStrategy: false } as const;
      const wrongPassword = createClient({ socket, RESP, password: 'open-barley' });
      wrongPassword.on('error', () => undefined);
      await expect(wrongPassword.connect()).rejects.toThrow('WRONGPASS');
    }
  },
);

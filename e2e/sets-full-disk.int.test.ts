// The sets on a disk that fills up: refused writes leave nothing behind, reads go on, writing resumes with room, and
// after kill -9 there is what was answered and nothing else.
import { mountSmallDisk } from '@syncline/testkit';
import { Redis } from 'ioredis';
import { expect, test, vi } from 'vitest';
import { CliProcess } from './cli-process.js';

const WAIT = { timeout: 20_000, interval: 50 };
const MEMBER_BYTES = 10_000;
/** The set does not fit, so it is read from the disk. */
const CACHE_BYTES = 1024 * 1024;
const MEMBERS = 200;

async function startOn(directory: string): Promise<{ server: CliProcess; redis: Redis }> {
  const ports = ['--http-port', '0', '--grpc-port', '0', '--resp-port', '0'];
  const server = new CliProcess(['serve', '--data-dir', `${directory}/data`, ...ports], {
    environment: { SYNCLINE_SETS_CACHE_BYTES_MAX: String(CACHE_BYTES) },
  });
  await server.url();
  const resp = server.listeners().find(({ listener }) => listener === 'resp');
  return { server, redis: new Redis(resp?.port ?? 0) };
}

/** Those that are answered from memory, and those that read the disk under what is not folded yet. */
async function expectAllReads(redis: Redis, answered: ReadonlySet<string>): Promise<void> {
  expect(new Set(await redis.smembers('set'))).toEqual(answered);
  expect(new Set(await redis.sunion('set', 'other'))).toEqual(answered);
  expect(await redis.srandmember('set', -300)).toHaveLength(300);
  expect(answered).toContain(await redis.srandmember('set'));
  const scanned = new Set<string>();
  let cursor = '0';
  do {
    const [next, members] = await redis.sscan('set', cursor, 'COUNT', 30);
    for (const member of members) scanned.add(member);
    cursor = next;
  } while (cursor !== '0');
  expect(scanned).toEqual(answered);
  expect(await redis.scan(0)).toEqual(['0', ['set']]);
  expect(await redis.keys('*')).toEqual(['set']);
  expect(await redis.randomkey()).toBe('set');
  expect(await redis.dbsize()).toBe(1);
}

test('S7 a full disk refuses writes and keeps what was answered', async (context) => {
  const disk = mountSmallDisk(32 * 1024 * 1024);
  if ('reason' in disk) return context.skip(disk.reason);
  using _ = disk;
  const answered = new Set<string>();
  let count = 0;
  const addOne = async (redis: Redis): Promise<string> => {
    count += 1;
    const member = `${count} `.padEnd(MEMBER_BYTES, 'x');
    try {
      expect(await redis.sadd('set', member)).toBe(1);
      answered.add(member);
      return 'answered';
    } catch (thrown) {
      return String(thrown);
    }
  };
  {
    const { server, redis } = await startOn(disk.path);
    await using _server = server;
    for (let round = 0; round < MEMBERS; round += 1) await addOne(redis);
    await disk.fill(0);
    await vi.waitFor(async () => expect(await addOne(redis)).toContain('MISCONF'), WAIT);
    expect(await redis.scard('set')).toBe(answered.size);
    await expectAllReads(redis, answered);
    const ready = await fetch(`${await server.url()}/readyz`);
    expect(ready.status).toBe(200);
    await disk.free();
    await vi.waitFor(async () => expect(await addOne(redis)).toBe('answered'), WAIT);
    expect(new Set(await redis.smembers('set'))).toEqual(answered);
    redis.disconnect();
  }
  const { server, redis } = await startOn(disk.path);
  await using _server = server;
  expect(new Set(await redis.smembers('set'))).toEqual(answered);
  redis.disconnect();
});

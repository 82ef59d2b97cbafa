// The sets on a disk that fills up: refused writes leave nothing behind, reads and removes continue, writing resumes
// once there is space, and after kill -9 exactly the acknowledged writes remain. A server also starts on a full disk.
import { statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { mountSmallDisk, type SmallDisk } from '@syncline/testkit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { CliProcess } from './cli-process.js';
import { SetsRawClient } from './sets-raw-client.js';

const WAIT = { timeout: 60_000, interval: 50 };
const DISK_BYTES = 64 * 1024 * 1024;
/** Both are too large to be read within one turn: one by its bytes, the other by its members. */
const LONG_MEMBERS = 200;
const LONG_MEMBER_BYTES = 10_000;
const MANY_MEMBERS = 30_000;
/** Removed in several operations. */
const LARGE_MEMBERS = 70_000;
/** The size of the reserve in the data directory. */
const RESERVE_BYTES = 12 * 1024 * 1024;

const PORTS = ['--http-port', '0', '--grpc-port', '0', '--resp-port', '0'];

interface Running extends AsyncDisposable {
  readonly server: CliProcess;
  readonly redis: Redis;
}

async function startOn({ path }: SmallDisk): Promise<Running> {
  const server = new CliProcess(['serve', '--data-dir', `${path}/data`, ...PORTS]);
  await server.url();
  const resp = server.listeners().find(({ listener }) => listener === 'resp');
  const redis = new Redis(resp?.port ?? 0);
  redis.on('error', () => undefined); // the server is killed
  return {
    server,
    redis,
    async [Symbol.asyncDispose]() {
      redis.disconnect();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** What must be stored: updated with each reply. */
class Expected {
  readonly long = new Set<string>();
  readonly many = new Set<string>();
  #count = 0;

  async fill(redis: Redis): Promise<void> {
    for (let round = 0; round < LONG_MEMBERS; round += 1)
      expect(await this.addOne(redis)).toBe('answered');
    const many = Array.from({ length: MANY_MEMBERS }, (_, index) => `member ${index}`);
    expect(await redis.sadd('many', ...many)).toBe(MANY_MEMBERS);
    for (const member of many) this.many.add(member);
  }

  /** `answered`, or the error. */
  async addOne(redis: Redis): Promise<string> {
    this.#count += 1;
    const member = `${this.#count} `.padEnd(LONG_MEMBER_BYTES, 'x');
    try {
      expect(await redis.sadd('long', member)).toBe(1);
      this.long.add(member);
      return 'answered';
    } catch (thrown) {
      return String(thrown);
    }
  }

  async expectAll(redis: Redis): Promise<void> {
    const { long, many } = this;
    expect(new Set(await redis.smembers('long'))).toEqual(long);
    expect(new Set(await redis.smembers('many'))).toEqual(many);
    expect(new Set(await redis.sunion('long', 'many'))).toEqual(new Set([...long, ...many]));
    expect(await redis.sinter('long', 'many')).toEqual([]);
    expect(await redis.srandmember('long', -300)).toHaveLength(300);
    expect(long).toContain(await redis.srandmember('long'));
    const scanned = new Set<string>();
    let cursor = '0';
    do {
      const [next, members] = await redis.sscan('long', cursor, 'COUNT', 30);
      for (const member of members) scanned.add(member);
      cursor = next;
    } while (cursor !== '0');
    expect(scanned).toEqual(long);
    expect((await redis.keys('*')).toSorted()).toEqual(['long', 'many']);
    expect(await redis.dbsize()).toBe(2);
  }
}

/** Uses up all space until an add is refused: a page at the end of the log may have some left. */
async function fillUntilRefused(disk: SmallDisk, redis: Redis, expected: Expected): Promise<void> {
  await vi.waitFor(async () => {
    await disk.fill(0);
    expect(await expected.addOne(redis)).toContain('MISCONF');
  }, WAIT);
}

async function expectRemoves(redis: Redis, expected: Expected): Promise<void> {
  const [first = '', second = '', ...rest] = expected.many;
  expect(await redis.srem('many', first, second)).toBe(2);
  const popped = (await redis.spop('many')) ?? '';
  expect(rest).toContain(popped);
  for (const member of [first, second, popped]) expected.many.delete(member);
  expect(await redis.scard('many')).toBe(expected.many.size);
}

const mounted = mountSmallDisk(DISK_BYTES);
if ('reason' in mounted) test.skip(`full disk: ${mounted.reason}`, () => {});
else describe('on a disk that fills up', () => trials(mounted));

/** One run after another on the same disk. */
function trials(disk: SmallDisk): void {
  const expected = new Expected();
  let running: Running;
  beforeAll(async () => {
    running = await startOn(disk);
    await expected.fill(running.redis);
    await running.redis.sadd('large', ...Array(LARGE_MEMBERS).keys());
    await fillUntilRefused(disk, running.redis, expected);
  });
  afterAll(async () => {
    await running[Symbol.asyncDispose]();
    disk[Symbol.dispose]();
  });

  test('S7 a refused write changes nothing', async () => {
    const { redis } = running;
    const digest = await redis.call('SYNCLINE.DIGEST');
    for (let round = 0; round < 5; round += 1)
      expect(await expected.addOne(redis)).toContain('MISCONF');
    const [long = ''] = expected.long;
    await expect(redis.smove('long', 'many', long)).rejects.toThrow('MISCONF');
    await expect(redis.sunionstore('copy', 'many', 'long')).rejects.toThrow('MISCONF');
    await expect(redis.sadd('huge', ...Array(70_000).keys())).rejects.toThrow('MISCONF');
    const transaction = redis.multi().srem('many', 'member 7').sadd('many', long);
    await expect(transaction.exec()).rejects.toThrow('MISCONF');
    expect(await redis.call('SYNCLINE.DIGEST')).toEqual(digest);
  });

  test('pipelined commands after a refused write are answered one by one', async () => {
    using client = await SetsRawClient.connect(running.redis.options.port ?? 0);
    const long = 'x'.repeat(LONG_MEMBER_BYTES);
    client.send(`SADD a ${long}\r\nPING\r\nSCARD a\r\nSREM many nobody\r\nPING\r\n`);
    await client.until(() => client.text().split('\r\n').length === 6);
    const lines = client.text().split('\r\n');
    const replies = lines.map((line) => line.split(' ')[0]);
    expect(replies).toEqual(['-MISCONF', '+PONG', ':0', ':0', '+PONG', '']);
  });

  test('reads and removes continue', async () => {
    const { server, redis } = running;
    expect(await redis.scard('large')).toBe(LARGE_MEMBERS);
    expect(await redis.del('large')).toBe(1);
    await fillUntilRefused(disk, redis, expected);
    await expected.expectAll(redis);
    const ready = await fetch(`${await server.url()}/readyz`);
    expect(ready.status).toBe(200);
    expect(await ready.text()).toContain('no space left');
    await expectRemoves(redis, expected);
  });

  test('a server that was killed starts on a full disk, serves reads, and accepts removes', async () => {
    await fillUntilRefused(disk, running.redis, expected);
    await running[Symbol.asyncDispose]();
    await disk.fill(0);
    running = await startOn(disk);
    const { server, redis } = running;
    await released(server);
    await expected.expectAll(redis);
    await expectRemoves(redis, expected);
    await fillUntilRefused(disk, redis, expected);
    await expectRemoves(redis, expected);
    await expected.expectAll(redis);
    expect((await fetch(`${await server.url()}/readyz`)).status).toBe(200);
  });

  test('writing resumes once there is space', async () => {
    const { redis } = running;
    await disk.free();
    await vi.waitFor(async () => expect(await expected.addOne(redis)).toBe('answered'), WAIT);
    await expected.expectAll(redis);
    const reserve = () => statSync(`${disk.path}/data/reserve`).size;
    await vi.waitFor(() => expect(reserve()).toBe(RESERVE_BYTES), WAIT);
  });

  test('a server that was stopped starts on a full disk, too', async () => {
    await stop(running);
    await disk.fill(0);
    running = await startOn(disk);
    const { server, redis } = running;
    await released(server);
    await expected.expectAll(redis);
    await disk.fill(0);
    expect(await redis.flushall()).toBe('OK');
    expect(await redis.dbsize()).toBe(0);
    await stop(running);
  });

  test('a start without space and without a reserve reports it', async () => {
    await rm(`${disk.path}/data/reserve`);
    await disk.fill(0);
    await using server = new CliProcess(['serve', '--data-dir', `${disk.path}/data`, ...PORTS]);
    expect((await server.end()).code).toBe(1);
    expect(server.stderr).toMatch(
      /no space left on the device\. Free some space, then try again\./,
    );
  });
}

/** Its log arrives by another pipe than its addresses. */
function released(server: CliProcess): Promise<unknown> {
  const line = /disk full, reserve released/;
  return server.until('log of the reserve', () => line.exec(server.stderr) ?? undefined);
}

async function stop({ server, redis }: Running): Promise<void> {
  redis.disconnect();
  server.child.kill('SIGTERM');
  expect(await server.end()).toMatchObject({ code: 0 });
}

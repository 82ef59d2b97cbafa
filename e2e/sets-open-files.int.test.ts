// A server that runs out of file descriptors: new connections and checkpoints fail for a while, writing does not, and
// everything works again once there are descriptors. A limit that is too low causes a warning or an error at startup.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { makeTempDirectory } from '@syncline/testkit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { CliProcess, runCli } from './cli-process.js';
import { SetsRawClient } from './sets-raw-client.js';
import { type SetsNode, startSetsNode } from './sets-targets.js';

const WAIT = { timeout: 60_000, interval: 50 };
/** A log segment, after which a new file is started. */
const SEGMENT_BYTES = 64 * 1024 * 1024;
const MEMBER_BYTES = 65_000;

let target: SetsNode;
let redis: Redis;
beforeAll(async () => {
  target = await startSetsNode();
  redis = new Redis(target.port);
  redis.on('error', () => undefined); // the server is killed
  await redis.sadd('set', 'first');
});
afterAll(async () => {
  redis.disconnect();
  await target[Symbol.asyncDispose]();
});

/** Without a number: as many as the system allows. */
function setLimit(openFilesMax?: number): void {
  const { pid } = target.node;
  const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
  const soft = openFilesMax ?? /^Max open files\s+\d+\s+(\d+)/m.exec(limits)?.[1];
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${soft}:`]);
}

/** The server may open this many more files, and no more. */
function leaveDescriptors(count: number): void {
  const used = new Set(readdirSync(`/proc/${target.node.pid}/fd`).map(Number));
  let limit = 0;
  for (let free = 0; free < count; limit += 1) if (!used.has(limit)) free += 1;
  while (used.has(limit)) limit += 1;
  setLimit(limit);
}

const persistence = async (name: string) =>
  new RegExp(`${name}:(\\S+)`).exec(await redis.info('persistence'))?.[1];

test('connections that take all descriptors do not stop writers, and stop checkpoints only temporarily', async () => {
  leaveDescriptors(20);
  const clients = await Promise.all(
    Array.from({ length: 60 }, () => SetsRawClient.connect(target.port).catch(() => undefined)),
  );
  await vi.waitFor(() => {
    const closed = clients.filter((client) => client === undefined || client.isClosed);
    expect(closed.length).toBeGreaterThan(20);
  }, WAIT);
  expect(await redis.sadd('set', 'while none are left')).toBe(1);
  await redis.bgsave();
  await vi.waitFor(
    async () => expect(await persistence('rdb_last_bgsave_status')).toBe('err'),
    WAIT,
  );
  expect(await redis.sadd('set', 'after a checkpoint that failed')).toBe(1);
  for (const client of clients) client?.[Symbol.dispose]();
  await vi.waitFor(async () => {
    using client = await SetsRawClient.connect(target.port);
    expect(await client.ask('PING')).toBe('+PONG');
  }, WAIT);
  await redis.bgsave();
  await vi.waitFor(
    async () => expect(await persistence('rdb_last_bgsave_status')).toBe('ok'),
    WAIT,
  );
  setLimit();
});

test('a new segment that takes the last descriptor does not stop writers', async () => {
  const add = async (count: number) => {
    const pipeline = redis.pipeline();
    for (let index = 0; index < count; index += 1)
      pipeline.sadd('rewritten', `${index % 10}`.padEnd(MEMBER_BYTES, '.'));
    for (const [error] of (await pipeline.exec()) ?? []) expect(error).toBeNull();
  };
  const perSegment = Math.floor(SEGMENT_BYTES / MEMBER_BYTES);
  await add(perSegment - 5);
  await redis.config('SET', 'appendfsync', 'always');
  leaveDescriptors(1);
  const names = () => readdirSync(`${target.node.dataDir}/sets/log`);
  const added: Promise<void>[] = [];
  await vi.waitFor(() => {
    added.push(add(10)); // not answered before a sync, which also needs a descriptor
    expect(names()).toHaveLength(3); // two segments and the reserve
  }, WAIT);
  setLimit();
  await Promise.all(added);
  expect(await redis.sadd('set', 'later')).toBe(1);
  const members = await redis.scard('set');
  await target.node.kill();
  await target.node.start();
  await vi.waitFor(async () => expect(await redis.scard('set')).toBe(members), WAIT);
});

test('a limit below the number of connections causes a warning at startup', async () => {
  await using directory = await makeTempDirectory('few-files');
  const ports = ['--http-port', '0', '--grpc-port', '0', '--resp-port', '0'];
  await using server = new CliProcess(['serve', '--data-dir', directory.path, ...ports], {
    openFilesMax: 500,
  });
  const warning = /this process may open 500 files/;
  await server.until('warning', () => warning.exec(server.stderr) ?? undefined);
  expect(server.stderr).toContain('resp.connections_max');
});

test('a limit below what the server itself needs is an error of one line at startup', async () => {
  await using directory = await makeTempDirectory('few-files');
  const end = await runCli(['serve', '--data-dir', directory.path], { openFilesMax: 160 });
  expect(end).toMatchObject({ code: 1, stdout: '' });
  expect(end.stderr).toMatch(
    /^syncline: this process may open only 160 files, .*ulimit -n 4096.*\n$/m,
  );
  expect(end.stderr).not.toContain('    at ');
});

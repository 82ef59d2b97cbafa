// S19: the largest allowed commands, one after another and some at the same time, on a server with a disk.
//
// The bound is far above what a quiet machine needs: on a busy host caches are cold, and the processor time that
// Linux reports includes what the host gave to others. SETS_FIGURES=1 prints what was measured.
import { join } from 'node:path';
import {
  type Cluster,
  type ClusterNode,
  makeTempDirectory,
  type TempDirectory,
} from '@syncline/testkit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startCluster } from './cluster.js';
import { LoopWatch } from './loop-watch.js';

const HELD_MS_MAX = 500;
const WAIT = { timeout: 60_000, interval: 10 };
/** The most elements that one operation changes, and the most commands of one transaction. */
const OPERATION = 65_536;
const TRANSACTION = 10_000;
const LARGE = 70_000;
const HUGE = 300_000;
const SETS = 100_000;

let directory: TempDirectory;
let cluster: Cluster;
let node: ClusterNode;
let clients: readonly Redis[] = [];
let watch: LoopWatch;

beforeAll(async () => {
  directory = await makeTempDirectory('holds');
  watch = new LoopWatch(join(directory.path, 'holds'));
  cluster = await startCluster({ nodes: 1, env: watch.env });
  node = cluster.node(1);
  clients = connect();
  await client(0).sadd('warm', [...numbered('member', 20_000)]);
});

afterAll(async () => {
  for (const each of clients) each.disconnect();
  await cluster[Symbol.asyncDispose]();
  await directory[Symbol.asyncDispose]();
});

function connect(): readonly Redis[] {
  return Array.from({ length: 3 }, () => new Redis(node.address('resp').port));
}

function client(index: number): Redis {
  const found = clients[index];
  if (found === undefined) throw new Error(`no client ${index}`);
  return found;
}

function numbered(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}:${index}`);
}

async function expectShortTurns(what: string, work: () => Promise<unknown>): Promise<void> {
  const heldMs = await watch.longestMs(what, work);
  expect(heldMs, `longest turn of ${what}, in ms`).toBeLessThan(HELD_MS_MAX);
}

async function fill(redis: Redis, name: string, members: readonly string[]): Promise<void> {
  for (let first = 0; first < members.length; first += OPERATION) {
    await redis.sadd(name, members.slice(first, first + OPERATION));
  }
}

test('S19 the largest operations of one command and of one transaction', async () => {
  const members = numbered('member', LARGE);
  await expectShortTurns(`SADD of ${OPERATION}`, () => fill(client(0), 'large', members));
  await expectShortTurns(`SADD of ${LARGE}`, () => client(0).sadd('other', [...members]));
  const perCommand = Math.floor(OPERATION / TRANSACTION);
  const transaction = client(0).multi();
  for (let index = 0; index < TRANSACTION; index += 1) {
    const first = index * perCommand;
    transaction.sadd(`part:${index % 10}`, members.slice(first, first + perCommand));
  }
  await expectShortTurns(`EXEC of ${TRANSACTION}`, async () => {
    expect((await transaction.exec())?.length).toBe(TRANSACTION);
  });
});

test('S19 many sets and large ones at the same time, and a checkpoint of all of them', async () => {
  const names = numbered('set', SETS);
  const addSets = async () => {
    for (let first = 0; first < SETS; first += 10_000) {
      const pipeline = client(1).pipeline();
      for (const name of names.slice(first, first + 10_000)) pipeline.sadd(name, 'member');
      await pipeline.exec();
    }
  };
  const fillHuge = () => fill(client(0), 'huge', numbered('huge', HUGE));
  await expectShortTurns('filling', () => Promise.all([addSets(), fillHuge()]));
  await expectShortTurns('KEYS during a checkpoint', async () => {
    expect(await client(1).bgsave()).toBe('Background saving started');
    expect((await client(0).keys('set:*')).length).toBe(SETS);
    await whenSaved(client(1));
  });
});

async function whenSaved(redis: Redis): Promise<void> {
  const isSaving = async () =>
    /rdb_bgsave_in_progress:(\d)/.exec(await redis.info('persistence'))?.[1];
  await vi.waitFor(async () => expect(await isSaving()).toBe('0'), WAIT);
}

test('S19 commands that walk large sets, at the same time', async () => {
  await expectShortTurns('SMEMBERS, SUNION and SINTER', async () => {
    const shown = await Promise.all([
      client(0).smembers('large'),
      client(1).sunion('large', 'other'),
      client(2).sinter('large', 'other'),
    ]);
    expect(shown.map((members) => members.length)).toEqual([LARGE, LARGE, LARGE]);
  });
});

test('S19 commands that remove large sets', async () => {
  await expectShortTurns('SPOP', async () => {
    expect((await client(0).spop('huge', HUGE / 3)).length).toBe(HUGE / 3);
  });
  await expectShortTurns('DEL', () => client(0).del('huge'));
});

test('S19 FLUSHALL', async () => {
  await expectShortTurns('FLUSHALL', async () => {
    expect(await client(0).flushall()).toBe('OK');
  });
});

test('S19 a start that replays the largest operations, and one that reads a checkpoint', async () => {
  for (const name of ['again', 'once more']) await fill(client(0), name, numbered('member', LARGE));
  for (const each of clients) each.disconnect();
  await node.kill();
  await expectShortTurns('the start from the log', () => node.start());
  clients = connect();
  await client(0).bgsave();
  await whenSaved(client(0));
  for (const each of clients) each.disconnect();
  await node.kill();
  await expectShortTurns('the start from a checkpoint', () => node.start());
});

// Every byte counts: a single flipped bit in a file of a stopped server is detected. After a clean stop the server
// refuses to start and says what to do; after kill -9 a damaged log is truncated there, with a warning. It never
// serves wrong sets.
//
// Also: file permissions, and data of the first version. SETS_FLIPS (25) is how many bytes are tested in each file
// that is too large to test all of them.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import {
  createSystemClock,
  createSystemRandom,
  type LogFields,
  type Logger,
  randomBelow,
  SynclineError,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import { createSystemFiles } from '@syncline/kernel/node';
import { openSets } from '@syncline/sets';
import { makeTempDirectory, type TempDirectory } from '@syncline/testkit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { runCli } from './cli-process.js';
import { startSetsNode } from './sets-targets.js';

const FLIPS = Number(process.env['SETS_FLIPS'] ?? 25);
/** Smaller files are tested byte by byte. */
const SMALL_BYTES = 200;
/** Members below this are in the checkpoint; each one above it has its own log record. */
const CHECKPOINTED = 300;
const MEMBERS = 330;
const WAIT = { timeout: 60_000, interval: 20 };
const FILES = ['identity', 'checkpoint', 'log'] as const;
const clock = createSystemClock();
const random = createSystemRandom();

let images: TempDirectory;
/** Permissions of what the server has created, by path. */
const modes = new Map<string, { readonly isDirectory: boolean; readonly mode: number }>();
/** What a server has left in DIR/sets: after kill -9, and after a clean stop. */
const imageOf = (how: 'killed' | 'clean') => join(images.path, how, 'sets');

beforeAll(async () => {
  images = await makeTempDirectory('images');
  await using target = await startSetsNode();
  const { node } = target;
  const redis = new Redis(target.port);
  const members = Array.from({ length: MEMBERS }, (_, index) => `member ${index}`);
  await redis.sadd('kept', ...members.slice(0, CHECKPOINTED));
  await redis.bgsave();
  const hasCheckpoint = async () => (await readdir(join(node.dataDir, 'sets/checkpoint'))).length;
  await vi.waitFor(async () => expect(await hasCheckpoint()).toBe(1), WAIT);
  await vi.waitFor(async () => expect(await redis.lastsave()).toBeGreaterThan(0), WAIT);
  for (const member of members.slice(CHECKPOINTED)) await redis.sadd('kept', member);
  redis.disconnect();
  await recordModes(node.dataDir);
  await node.kill();
  await cp(node.dataDir, join(images.path, 'killed'), { recursive: true });
  await node.start();
  await node.stop();
  await cp(node.dataDir, join(images.path, 'clean'), { recursive: true });
});
afterAll(() => images[Symbol.asyncDispose]());

async function recordModes(dataDir: string): Promise<void> {
  for (const path of ['', ...(await readdir(dataDir, { recursive: true }))]) {
    const facts = await stat(join(dataDir, path));
    modes.set(path, { isDirectory: facts.isDirectory(), mode: facts.mode & 0o777 });
  }
}

async function pathOf(directory: string, file: (typeof FILES)[number]): Promise<string> {
  if (file === 'identity') return join(directory, file);
  const names = (await readdir(join(directory, file))).filter((name) => name !== 'reserve');
  expect(names).toHaveLength(1);
  return join(directory, file, names[0] ?? '');
}

/** All positions of a small file, some of a larger one. */
function positionsIn(bytes: number, flips: number): readonly number[] {
  if (bytes <= SMALL_BYTES) return Array.from({ length: bytes }, (_, index) => index);
  return Array.from({ length: flips }, () => randomBelow(random, bytes));
}

interface Opened {
  readonly members: readonly string[];
  readonly warnings: readonly LogFields[];
}

/** Loads the sets as a server does, and returns the members of `kept`. */
async function load(directory: string): Promise<Opened> {
  const warnings: LogFields[] = [];
  const warn: Logger['warn'] = (msg, fields) => void warnings.push({ ...fields, msg });
  const logger: Logger = { ...silentLogger, warn };
  const files = createSystemFiles(directory);
  await using sets = await openSets(
    { files, clock, random, logger, metrics: silentMetrics },
    { nodeId: 1, clusterId: 'syncline' },
  );
  const members: string[] = [];
  for await (const member of sets.members(Buffer.from('kept')))
    members.push(Buffer.from(member).toString('latin1'));
  return { members, warnings };
}

/** The first `count` members and no others. */
function countOf(members: readonly string[]): number {
  const numbers = members.map((member) => Number(member.slice('member '.length)));
  expect(numbers.toSorted((a, b) => a - b)).toEqual([...numbers.keys()]);
  return numbers.length;
}

/** Calls `look` for each damaged version of one file, in a copy of the directory. */
async function withFlips(
  how: 'killed' | 'clean',
  file: (typeof FILES)[number],
  look: (loaded: Opened | SynclineError, position: number) => void,
  flips = FLIPS,
): Promise<void> {
  await using copy = await makeTempDirectory('damage');
  await cp(imageOf(how), copy.path, { recursive: true });
  const path = await pathOf(copy.path, file);
  const name = path.slice(copy.path.length + 1);
  const original = await readFile(path);
  for (const position of positionsIn(original.length, flips)) {
    const damaged = Buffer.from(original);
    damaged.writeUInt8(damaged.readUInt8(position) ^ (1 << randomBelow(random, 8)), position);
    await writeFile(path, damaged);
    const loaded = await load(copy.path).catch((thrown: unknown) => SynclineError.from(thrown));
    if (loaded instanceof SynclineError) {
      expect(loaded, `${name}, byte ${position}`).toMatchObject({ code: 'corrupt' });
      expect(loaded.message).toContain(name);
      expect(loaded.message).toMatch(/[Rr]estore|move it away/);
      expect(await readFile(path)).toEqual(damaged); // nothing was touched
    } else await restore(imageOf(how), copy.path);
    look(loaded, position);
  }
}

/** Undoes what a start has changed. The reserve of the log is large and stays. */
async function restore(image: string, copy: string): Promise<void> {
  const isSmall = (path: string) => basename(path) !== 'reserve';
  const names = (await readdir(join(copy, 'log'))).filter(isSmall);
  await Promise.all(names.map((name) => rm(join(copy, 'log', name))));
  await cp(image, copy, { recursive: true, filter: isSmall });
}

describe('a flipped bit', () => {
  test.each(FILES)('after a clean stop in %s: the server refuses to start', async (file) => {
    await withFlips('clean', file, (loaded, position) => {
      if (!(loaded instanceof SynclineError)) expect.fail(`byte ${position} went unnoticed`);
    });
  });

  test.each(['identity', 'checkpoint'] as const)(
    'after kill -9 in %s: the server refuses to start',
    async (file) => {
      await withFlips('killed', file, (loaded, position) => {
        if (!(loaded instanceof SynclineError)) expect.fail(`byte ${position} went unnoticed`);
      });
    },
  );

  test('S6 after kill -9 in the log: the log ends there, and a warning says how much is lost', async () => {
    const counts = new Set<number>();
    const look = (loaded: Opened | SynclineError) => {
      if (loaded instanceof SynclineError) return; // it looks like that of another owner or version
      const count = countOf(loaded.members);
      counts.add(count);
      expect(count).toBeLessThan(MEMBERS);
      expect(count).toBeGreaterThanOrEqual(CHECKPOINTED);
      const cut = loaded.warnings.find(
        ({ msg }) => msg === 'log truncated at the first bad record',
      );
      expect(cut).toMatchObject({ segment: expect.stringMatching(/^log\//) });
      expect(cut?.['bytesDropped']).toBeGreaterThan(0);
    };
    await withFlips('killed', 'log', look, 3 * FLIPS); // enough to hit many of its records
    expect(counts.size).toBeGreaterThan(5);
  });

  test('undamaged files load', async () => {
    for (const how of ['killed', 'clean'] as const) {
      await using copy = await makeTempDirectory('whole');
      await cp(imageOf(how), copy.path, { recursive: true });
      const { members, warnings } = await load(copy.path);
      expect(countOf(members)).toBe(MEMBERS);
      expect(warnings).toEqual([]);
    }
  });
});

test('a copy of a running server is a backup: first the log, then the checkpoint', async () => {
  await using target = await startSetsNode();
  await using copy = await makeTempDirectory('backup');
  const redis = new Redis(target.port);
  let added = 0;
  let isOver = false;
  const adding = (async () => {
    for (; !isOver; added += 1) {
      await redis.sadd('kept', `member ${added}`);
      if (added % 100 === 0) await redis.bgsave().catch(() => undefined); // one is running
    }
  })();
  await vi.waitFor(() => expect(added).toBeGreaterThan(200), WAIT);
  const [sets, before] = [join(target.node.dataDir, 'sets'), added];
  const commands = `cp -a ${sets}/identity ${sets}/log ${copy.path} && cp -a ${sets}/checkpoint ${copy.path}`;
  // A checkpoint may finish in the meantime: then a file is missing, and the copy is repeated.
  await vi.waitFor(() => execFileSync('sh', ['-c', commands], { stdio: 'ignore' }), WAIT);
  await vi.waitFor(() => expect(added).toBeGreaterThan(before + 100), WAIT);
  isOver = true;
  await adding;
  redis.disconnect();
  const { members } = await load(copy.path);
  expect(countOf(members)).toBeGreaterThanOrEqual(before);
});

describe('the command', () => {
  const serve = (dataDir: string) =>
    runCli([
      'serve',
      '--data-dir',
      dataDir,
      '--http-port',
      '0',
      '--grpc-port',
      '0',
      '--resp-port',
      '0',
    ]);

  // A damaged checkpoint is found late, as in sets-loading.int.test.ts.
  test.each(['identity', 'log'] as const)('names a damaged %s and the way out', async (file) => {
    await using copy = await makeTempDirectory('damage');
    await cp(join(images.path, 'clean'), copy.path, { recursive: true });
    const path = await pathOf(join(copy.path, 'sets'), file);
    const bytes = await readFile(path);
    bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1);
    await writeFile(path, bytes);
    const { code, stderr } = await serve(copy.path);
    expect(code).toBe(1);
    const message = stderr.split('\n').find((line) => line.startsWith('syncline: ')) ?? '';
    expect(message).toContain(join(copy.path, 'sets'));
    expect(message).toContain(path.slice(join(copy.path, 'sets').length + 1));
    expect(message).toMatch(/[Rr]estore/);
  });

  test('refuses data of the first version', async () => {
    await using directory = await makeTempDirectory('old');
    await mkdir(join(directory.path, 'sets/db'), { recursive: true });
    await writeFile(join(directory.path, 'sets/db/CURRENT'), 'MANIFEST-000002\n');
    const { code, stderr } = await serve(directory.path);
    expect(code).toBe(5);
    expect(stderr).toMatch(/syncline: .*earlier version.*Move it away and start again/);
    expect(existsSync(join(directory.path, 'sets/identity'))).toBe(false);
  });

  test('creates files that only their owner can read', () => {
    expect([...modes.keys()]).toEqual(expect.arrayContaining(['sets/identity', 'jobs/db/CURRENT']));
    for (const [path, { isDirectory, mode }] of modes)
      expect(mode, path).toBe(isDirectory ? 0o700 : 0o600);
  });
});

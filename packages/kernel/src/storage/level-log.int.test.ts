// What the log of a real LevelDB ends with, at every position in its blocks of 32 KiB.
import { mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { silentLogger } from '../logger.js';
import { createSystemClock } from '../system-clock.js';
import { LevelHandle } from './level-handle.js';
import { findDamage, findDamagedLogs, isAtEndOfLog, warnOfDamagedLogs } from './level-log.js';
import { openLevelStorage } from './level-storage.js';
import { StorageBatch } from './storage-batch.js';

const deps = { clock: createSystemClock(), logger: silentLogger };
let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'syncline-log-'));
});
afterEach(() => rm(directory, { recursive: true }));

const groupOf = (batch: StorageBatch) =>
  ({ batches: [batch], bytes: batch.bytes, durability: 'synced' }) as const;

function batchOf(number: number, valueBytes: number): StorageBatch {
  const batch = new StorageBatch().put(Buffer.from('other'), new Uint8Array(number % 3));
  if (valueBytes === 0) return batch.delete(Buffer.from(`a key that goes ${number}`));
  return batch.put(Buffer.from(`key ${number}`), new Uint8Array(valueBytes).fill(number));
}

it('K17 a batch that is written is at the end of the log; the one before it, and a truncated one, are not', async () => {
  await using storage = await openLevelStorage(deps, { directory });
  const sizes = [1, 0, 20_000, 12_700, 40, 0, 32_768, 100_000, 3];
  for (let at = 0; at < 40; at += 1) sizes.push(32_768 - 60 + at, 1 + at); // around the end of a block
  let before: StorageBatch | undefined;
  for (const [number, valueBytes] of sizes.entries()) {
    const batch = batchOf(number, valueBytes);
    await storage.write(batch, { durability: 'synced' });
    expect(await isAtEndOfLog(directory, groupOf(batch)), `${number}`).toBe(true);
    if (before) expect(await isAtEndOfLog(directory, groupOf(before)), `${number}`).toBe(false);
    before = batch;
  }
  const [log] = (await readdir(directory)).filter((name) => name.endsWith('.log')).sort();
  const path = join(directory, log ?? '');
  await truncate(path, (await stat(path)).size - 1);
  expect(await isAtEndOfLog(directory, groupOf(before as StorageBatch))).toBe(false);
});

async function writeLog(): Promise<{
  readonly path: string;
  readonly log: Buffer;
  readonly last: number;
}> {
  const storage = await openLevelStorage(deps, { directory });
  let last = 0;
  const path = async () =>
    join(directory, (await readdir(directory)).find((name) => name.endsWith('.log')) ?? '');
  for (let number = 1; number <= 60; number += 1) {
    last = (await stat(await path())).size;
    await storage.write(batchOf(number, 40 * number), { durability: 'synced' });
  }
  await storage.close();
  return { path: await path(), log: await readFile(await path()), last };
}

it('K18 any flipped byte before the last record of a log is noticed; a torn end is not damage', async () => {
  const { log, last } = await writeLog();
  expect(findDamage(log)).toBeUndefined();
  for (let at = 0; at < last; at += 97) {
    const damaged = Buffer.from(log);
    damaged[at] = (damaged[at] ?? 0) ^ 0x10;
    const found = findDamage(damaged);
    expect(found, `byte ${at}`).toMatchObject({ isEnd: false });
    expect(found?.offset).toBeLessThanOrEqual(at);
  }
  expect(findDamage(log.subarray(0, last))).toBeUndefined();
  for (let length = last + 1; length < log.length; length += 11) {
    const found = findDamage(log.subarray(0, length));
    expect(found, `${length} bytes`).toMatchObject({ offset: last, isEnd: true });
  }
});

it('K18 an opening logs which log is damaged, and where', async () => {
  const { path, log } = await writeLog();
  log[100] = (log[100] ?? 0) ^ 1;
  await writeFile(path, log);
  const lines: unknown[] = [];
  const logger = { ...silentLogger, error: (...line: unknown[]) => void lines.push(line) };
  await warnOfDamagedLogs(logger, directory);
  expect(await findDamagedLogs(directory)).toMatchObject([{ file: basename(path), isEnd: false }]);
  expect(lines).toEqual([
    [expect.stringContaining('damaged'), expect.objectContaining({ directory })],
  ]);
});

it.each([
  { isLogged: true, code: 'storage-failed', outcome: 'unknown' },
  { isLogged: false, code: 'storage-full', outcome: 'not-applied' },
] as const)(
  'K17 on a full disk a synced write is $code if it reached the log: $isLogged; the next opening would apply it',
  async ({ isLogged, code, outcome }) => {
    const storage = await openLevelStorage(deps, { directory });
    const prepare = vi.spyOn(LevelHandle.prototype, 'prepare');
    prepare.mockImplementationOnce(async function (this: LevelHandle, group) {
      const write = await this.prepare(group);
      return async () => {
        if (isLogged) await write(); // and then the sync fails
        throw new Error('IO error: /data/000003.log: No space left on device');
      };
    });
    const batch = new StorageBatch().put(Buffer.from('key'), Uint8Array.of(1));
    await expect(storage.write(batch, { durability: 'synced' })).rejects.toMatchObject({
      code,
      outcome,
    });
    const next = storage.write(batchOf(1, 1), { durability: 'synced' });
    if (isLogged) await expect(next).rejects.toMatchObject({ code });
    else await next;
    await storage.close();
    prepare.mockRestore();
    await using again = await openLevelStorage(deps, { directory });
    expect(again.get(Buffer.from('key')) !== undefined).toBe(isLogged);
  },
);

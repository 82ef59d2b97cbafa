// `jobs ls` and `jobs rm` with a job that is damaged on the disk of a real server.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startJobServer } from '../testing/job-server.js';
import { createTestWorld, type TestWorldOptions } from '../testing/test-world.js';

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'syncline-damaged-'));
});
afterEach(() => rm(dataDir, { recursive: true }));

/** Flips one bit on disk, below our storage and its checksums, in the first value whose key starts with the prefix. */
async function flipBit(directory: string, begin: string): Promise<void> {
  const encodings = { keyEncoding: 'view', valueEncoding: 'view' } as const;
  const level = new ClassicLevel<Uint8Array, Uint8Array>(directory, encodings);
  for await (const [key, value] of level.iterator({ gte: Buffer.from(begin), limit: 1 })) {
    const flipped = Uint8Array.from(value);
    flipped[0] = (flipped[0] ?? 0) ^ 1;
    await level.put(key, flipped, { sync: true });
  }
  await level.close();
}

async function withDamaged(begin: string): Promise<void> {
  const first = await startJobServer({ dataDir });
  await first.store.createJob({ jobId: 'bad', numTasks: 1 });
  await first.store.createJob({ jobId: 'good', numTasks: 1 });
  await first.stop();
  await flipBit(join(dataDir, 'jobs', 'db'), begin);
}

const damages = [
  ['its metadata', 'nbad'],
  ['its head', 'h'],
] as const;

test.each(damages)(
  'a job is damaged in %s: ls names it beside the others, rm deletes it',
  async (_, begin) => {
    await withDamaged(begin);
    await using server = await startJobServer({ dataDir });
    const run = async (line: string, options: TestWorldOptions = {}) => {
      const world = createTestWorld(options);
      const exit = await world.run('jobs', ...line.split(' '), '--url', server.url);
      return { exit, stdout: world.stdout(), stderr: world.stderr() };
    };
    const list = await run('ls');
    expect(list.stdout).toMatch(/^ job .*\n good .*\n$/);
    expect(list.stderr).toMatch(/^🔴 Job bad is damaged .* syncline jobs rm bad\n$/);
    expect((await run('ls --json')).stdout.trimEnd().split('\n')).toHaveLength(1);
    expect(await server.store.listJobs({})).toMatchObject({
      jobs: [{ job: { jobId: 'good' } }],
      damaged: ['bad'],
    });
    const asked = await run('rm bad', { typed: 'y' });
    expect(asked.stderr).toContain('Delete permanently: job bad that is damaged? [y/N]');
    expect(asked).toMatchObject({ exit: 0, stderr: expect.stringContaining('is deleted.\n') });
    expect(await run('ls')).toMatchObject({ exit: 0, stderr: '' });
    expect(await server.store.createJob({ jobId: 'bad', numTasks: 2 })).toMatchObject({
      created: true,
    });
  },
);

test.each(damages)('a job is damaged in %s: a remote store deletes it', async (_, begin) => {
  await withDamaged(begin);
  await using server = await startJobServer({ dataDir });
  expect(await server.store.deleteJob('bad')).toBe(true);
  expect(await server.store.deleteJob('bad')).toBe(false);
  expect((await server.store.listJobs({})).damaged).toBeUndefined();
});

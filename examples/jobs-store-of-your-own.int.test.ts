// The small store of the example passes the tests of every job store, across restarts and compaction.
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createMemoryJobStore, type JobStore } from '@syncline/jobs';
import type { EngineOptions } from '@syncline/jobs/store-kit';
import { jobStoreSuite, TimerCount } from '@syncline/jobs/testing';
import { createSystemClock } from '@syncline/kernel';
import { makeTempDirectory, type TempDirectory } from '@syncline/testkit';
import { describe, expect, test } from 'vitest';
import { openFileJobStore } from './jobs-store-of-your-own.js';

const LITTLE_ROOM = { retentionRevisionsMax: 3, compactionKeysMax: 1, memoryRevisionsMax: 2 };
const COMPACTION_MS_MAX = 10_000;

class FileStoreSubject implements AsyncDisposable {
  readonly clock = new TimerCount(createSystemClock());
  readonly #directory: TempDirectory;
  readonly #options: EngineOptions | undefined;
  store: JobStore;

  private constructor(
    directory: TempDirectory,
    store: JobStore,
    options: EngineOptions | undefined,
  ) {
    this.#directory = directory;
    this.#options = options;
    this.store = store;
  }

  static async open(options: EngineOptions | undefined): Promise<FileStoreSubject> {
    const directory = await makeTempDirectory('file-jobs');
    const subject = new FileStoreSubject(directory, createMemoryJobStore(), options);
    await subject.restart();
    return subject;
  }

  async restart(): Promise<void> {
    await this.store.close();
    const path = join(this.#directory.path, 'jobs.json');
    this.store = await openFileJobStore(path, { clock: this.clock }, this.#options);
  }

  /** Waits until everything outside retention is gone; writers may continue in the meantime. */
  async compacted(): Promise<void> {
    const startMs = this.clock.monotonicMs();
    while (this.clock.monotonicMs() - startMs < COMPACTION_MS_MAX) {
      const text = await readFile(join(this.#directory.path, 'jobs.json'), 'utf8');
      const jobs = JSON.parse(text) as { head: { revision: number; compactedTo: number } }[];
      const { retentionRevisionsMax: kept } = LITTLE_ROOM;
      if (jobs.every(({ head }) => head.compactedTo >= head.revision - kept)) return;
      await this.clock.sleep(10);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store.close();
    await this.#directory[Symbol.asyncDispose]();
  }
}

function suiteOf(name: string, options?: EngineOptions) {
  return jobStoreSuite<FileStoreSubject>({
    name,
    capabilities: { history: 'all', reads: 'linearizable', durability: 'synced', lost: 'store' },
    histories: 10,
    pendingTimers: ({ clock }) => clock.pending,
    create: () => FileStoreSubject.open(options),
    faults: {
      restart: (subject) => subject.restart(),
      ...(options && { compact: (subject: FileStoreSubject) => subject.compacted() }),
    },
  });
}

test('the example prints the progress and leaves no file behind', async () => {
  await using directory = await makeTempDirectory('example');
  const program = fileURLToPath(new URL('dist/jobs-store-of-your-own.js', import.meta.url));
  const env = { ...process.env, TMPDIR: directory.path };
  const { stdout } = await promisify(execFile)(process.execPath, [program], { env });
  expect(stdout).toContain(`40% in ${directory.path}/`);
  expect(await readdir(directory.path)).toEqual([]);
});

describe('a store of your own is a job store', () => {
  const cases = suiteOf('own');
  for (const { name, run } of cases.filter(({ skipped }) => skipped === undefined))
    test.concurrent(name, run);

  test('there is no network, and its clock cannot be set', () => {
    const reasons = cases.flatMap(({ skipped }) => skipped ?? []);
    expect(new Set(reasons)).toEqual(
      new Set(
        ['cut', 'compact', 'stall', 'stepClock'].map((name) => `faults.${name} is not given`),
      ),
    );
  });
});

describe('a store of your own that retains three changes', () => {
  const cases = suiteOf('own-small', LITTLE_ROOM);
  for (const { name, run } of cases.filter((one) => /random history|compact/.test(one.name)))
    test.concurrent(name, run);
});

// A temporary directory for one test, removed when the test ends.
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TempDirectory extends AsyncDisposable {
  readonly path: string;
}

const MEMORY = '/dev/shm';
const MEMORY_BYTES_MIN = 512 * 1024 * 1024;

/** `name` is part of its path, to identify the test if the directory is left behind. */
export async function makeTempDirectory(name: string): Promise<TempDirectory> {
  return await makeIn(tmpdir(), name);
}

/**
 * In memory if the system has enough, so that a sync costs nothing. For tests that kill processes: like a page cache,
 * it survives that.
 */
export async function makeMemoryDirectory(name: string): Promise<TempDirectory> {
  const room = await statfs(MEMORY).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  );
  return await makeIn(room >= MEMORY_BYTES_MIN ? MEMORY : tmpdir(), name);
}

async function makeIn(place: string, name: string): Promise<TempDirectory> {
  const path = await mkdtemp(join(place, `syncline-${name}-`));
  return {
    path,
    async [Symbol.asyncDispose]() {
      await rm(path, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

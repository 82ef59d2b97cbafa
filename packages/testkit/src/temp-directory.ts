// A directory of one test's own, gone when the test is over.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TempDirectory extends AsyncDisposable {
  readonly path: string;
}

/** `name` shows in its path, to tell whose it is when one is left behind. */
export async function makeTempDirectory(name: string): Promise<TempDirectory> {
  const path = await mkdtemp(join(tmpdir(), `syncline-${name}-`));
  return {
    path,
    async [Symbol.asyncDispose]() {
      await rm(path, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

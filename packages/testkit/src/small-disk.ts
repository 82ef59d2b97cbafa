// A disk that is small enough to be filled: a tmpfs, where this process may mount one.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { readdir, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface SmallDisk extends Disposable {
  readonly path: string;
  /** Uses up all space except `bytesLeft`, also if called before. */
  fill(bytesLeft: number): Promise<void>;
  /** Gives back what `fill` took. */
  free(): Promise<void>;
  /** Removes everything. */
  empty(): Promise<void>;
  makeReadOnly(): void;
}

/** Why there is none: mounting needs root and permission to mount. */
export type NoSmallDisk = { readonly reason: string };

export function mountSmallDisk(bytes: number): SmallDisk | NoSmallDisk {
  const path = mkdtempSync(join(tmpdir(), 'syncline-disk-'));
  try {
    run('mount', '-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', path);
  } catch (thrown) {
    rmdirSync(path);
    return { reason: `cannot mount a tmpfs: ${String(thrown).split('\n')[0]}` };
  }
  const ballast = join(path, 'ballast');
  return {
    path,
    async fill(bytesLeft) {
      const { bavail, bsize } = await statfs(path);
      const bytesFree = bavail * bsize;
      if (bytesFree > bytes) throw new Error(`${path} is not the small disk any more`);
      const taken = new Uint8Array(Math.max(bytesFree - bytesLeft, 0));
      await writeFile(ballast, taken, { flag: 'a' }).catch(ignoreNoSpace);
    },
    free: () => rm(ballast, { force: true }),
    async empty() {
      const names = await readdir(path);
      await Promise.all(names.map((name) => rm(join(path, name), { recursive: true })));
    },
    makeReadOnly: () => run('mount', '-o', 'remount,ro', path),
    [Symbol.dispose]() {
      run('umount', '--lazy', path); // also when a killed test has left a process on it
      rmdirSync(path);
    },
  };
}

/** Another process may write at the same time: then the disk is full before the ballast is complete. */
function ignoreNoSpace(thrown: NodeJS.ErrnoException): void {
  if (thrown.code !== 'ENOSPC') throw thrown;
}

function run(command: string, ...args: readonly string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

// Files on the real disk, below one root. Only append handles stay open between calls.
//
// A sync by path opens the file again. Linux reports a failed write-back to the first caller that syncs
// the file, even if it opened the file later, and then forgets it: a second sync would succeed although
// the bytes are gone. So this process remembers a file whose sync failed and never calls it durable again.
//
// K30  An append adds to the end. If it fails it leaves a prefix, or nothing.
// K31  A rename replaces its target in one step.
// K33  An error of a sync is final for its file.
import {
  constants,
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  rmdir,
  stat,
  unlink,
} from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Outcome, SynclineError } from '../error.js';
import { kernelLimits } from '../limits.js';
import { splitPath } from './file-path.js';
import { checkPlace } from './file-place.js';
import { errnoOf, failedEarlierSync, failedSync, fileSystemError } from './file-system-error.js';
import type { AppendHandle, FileStat, Files } from './files.js';
import { OWNER_ONLY_FILE, openSystemAppend } from './system-append-handle.js';

const OWNER_ONLY_DIRECTORY = 0o700;

/** `root` must exist. Symbolic links inside it are followed wherever they lead. */
export function createSystemFiles(root: string): Files {
  return new SystemFiles(resolve(root));
}

class SystemFiles implements Files {
  readonly #root: string;
  /** Inodes whose sync has failed. */
  readonly #failedInodes = new Set<string>();
  /** Shared by all append handles, since an append is synchronous. */
  readonly #scratch = new Uint8Array(kernelLimits.appendGatherBytesMax.value);

  constructor(root: string) {
    this.#root = root;
  }

  async readAt(path: string, offset: number, length: number): Promise<Uint8Array> {
    checkPlace(offset, length);
    return this.#try('read', path, async (place) => {
      // Otherwise opening a pipe waits for its writer, and nothing could end that.
      await using file = await open(place, constants.O_RDONLY | constants.O_NONBLOCK);
      const found = await file.stat();
      if (!found.isFile() && !found.isDirectory())
        throw Object.assign(new Error('not a regular file'), { code: 'ESPIPE' });
      const bytes = new Uint8Array(Math.min(length, Math.max(found.size - offset, 0)));
      return bytes.subarray(0, await readFully(file, bytes, offset));
    });
  }

  async append(path: string, bytes: Uint8Array): Promise<void> {
    const place = this.#place(path);
    let written = 0;
    try {
      await using file = await open(place, 'a', OWNER_ONLY_FILE);
      while (written < bytes.length) {
        written += (await file.write(bytes, written)).bytesWritten;
      }
    } catch (thrown) {
      const outcome = written === 0 ? 'not-applied' : 'unknown';
      throw problem('append to', place, thrown, outcome);
    }
  }

  openAppend(path: string): AppendHandle {
    const shared = { failedInodes: this.#failedInodes, scratch: this.#scratch };
    return openSystemAppend(path, this.#place(path), shared);
  }

  async sync(path: string): Promise<void> {
    await this.#sync(path);
  }

  async rename(from: string, to: string): Promise<void> {
    const target = this.#place(to);
    await this.#try('rename', from, (place) => rename(place, target));
  }

  async syncDir(path: string): Promise<void> {
    await this.#sync(path);
  }

  async list(path: string): Promise<readonly string[]> {
    const names = await this.#try('list', path, (place) => readdir(place, { encoding: 'buffer' }));
    return names.sort(Buffer.compare).map((name) => name.toString());
  }

  async stat(path: string): Promise<FileStat | undefined> {
    const place = this.#place(path);
    try {
      const found = await stat(place, { bigint: true });
      return {
        kind: found.isDirectory() ? 'directory' : 'file',
        bytes: found.isDirectory() ? 0 : Number(found.size),
        inode: String(found.ino),
        modifiedMs: Number(found.mtimeMs),
      };
    } catch (thrown) {
      const errno = errnoOf(thrown);
      if (errno === 'ENOENT' || errno === 'ENOTDIR') return undefined;
      throw problem('stat', place, thrown);
    }
  }

  async remove(path: string): Promise<void> {
    await this.#try('remove', path, async (place) => {
      if ((await lstat(place)).isDirectory()) await rmdir(place);
      else await unlink(place);
    });
  }

  async makeDir(path: string): Promise<void> {
    const options = { recursive: true, mode: OWNER_ONLY_DIRECTORY };
    await this.#try('create the directory', path, (place) => mkdir(place, options));
  }

  /** For a directory it makes the names in it durable. */
  async #sync(path: string): Promise<void> {
    const place = this.#place(path);
    await using file = await this.#try('sync', path, () => open(place, 'r'));
    const inode = String((await file.stat({ bigint: true })).ino);
    if (this.#failedInodes.has(inode)) throw failedEarlierSync(place);
    try {
      await file.sync();
    } catch (thrown) {
      this.#failedInodes.add(inode);
      throw failedSync(place, thrown);
    }
  }

  async #try<T>(action: string, path: string, run: (place: string) => Promise<T>): Promise<T> {
    const place = this.#place(path);
    try {
      return await run(place);
    } catch (thrown) {
      throw problem(action, place, thrown);
    }
  }

  #place(path: string): string {
    return join(this.#root, ...splitPath(path));
  }
}

/** One read may return less than is there. */
async function readFully(file: FileHandle, bytes: Uint8Array, offset: number): Promise<number> {
  let read = 0;
  while (read < bytes.length) {
    const { bytesRead } = await file.read(bytes, read, bytes.length - read, offset + read);
    if (bytesRead === 0) break;
    read += bytesRead;
  }
  return read;
}

function problem(action: string, path: string, cause: unknown, outcome?: Outcome): SynclineError {
  return fileSystemError({
    action,
    path,
    errno: errnoOf(cause),
    cause,
    ...(outcome && { outcome }),
  });
}

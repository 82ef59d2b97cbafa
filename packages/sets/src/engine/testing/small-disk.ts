// A disk with a limited number of bytes, over the files of a simulated process. Names take no space.
import { type AppendHandle, type FileStat, type Files, SynclineError } from '@syncline/kernel';

export class SmallDisk implements Files {
  capacityBytes = Number.POSITIVE_INFINITY;
  #files: Files;
  /** By path. */
  readonly #sizes = new Map<string, number>();

  constructor(files: Files) {
    this.#files = files;
  }

  /** The same disk as the next process sees it. */
  handTo(files: Files): void {
    this.#files = files;
  }

  get usedBytes(): number {
    let bytes = 0;
    for (const size of this.#sizes.values()) bytes += size;
    return bytes;
  }

  /** From now on there is space for this many more bytes. */
  leave(freeBytes: number): void {
    this.capacityBytes = this.usedBytes + freeBytes;
  }

  sizeOf(path: string): number {
    return this.#sizes.get(path) ?? 0;
  }

  readAt(path: string, offset: number, length: number): Promise<Uint8Array> {
    return this.#files.readAt(path, offset, length);
  }

  async append(path: string, bytes: Uint8Array): Promise<void> {
    const taken = this.#take(path, bytes.length);
    await this.#files.append(path, bytes.subarray(0, taken));
    if (taken < bytes.length) throw noRoom(path);
  }

  openAppend(path: string): AppendHandle {
    const handle = this.#files.openAppend(path);
    this.#sizes.set(path, handle.length);
    return {
      path,
      get length() {
        return handle.length;
      },
      append: (parts) => {
        const bytes = Buffer.concat(parts);
        const taken = this.#take(path, bytes.length);
        handle.append([bytes.subarray(0, taken)]);
        if (taken < bytes.length) throw noRoom(path);
      },
      truncate: (length) => {
        handle.truncate(length);
        this.#sizes.set(path, length);
      },
      sync: () => handle.sync(),
      close: () => handle.close(),
    };
  }

  sync(path: string): Promise<void> {
    return this.#files.sync(path);
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#files.rename(from, to);
    this.#sizes.set(to, this.sizeOf(from));
    this.#sizes.delete(from);
  }

  syncDir(path: string): Promise<void> {
    return this.#files.syncDir(path);
  }

  list(path: string): Promise<readonly string[]> {
    return this.#files.list(path);
  }

  stat(path: string): Promise<FileStat | undefined> {
    return this.#files.stat(path);
  }

  async remove(path: string): Promise<void> {
    await this.#files.remove(path);
    this.#sizes.delete(path);
  }

  makeDir(path: string): Promise<void> {
    return this.#files.makeDir(path);
  }

  /** How many of these bytes fit; their space is taken. */
  #take(path: string, bytes: number): number {
    const taken = Math.max(0, Math.min(bytes, this.capacityBytes - this.usedBytes));
    this.#sizes.set(path, this.sizeOf(path) + taken);
    return taken;
  }
}

function noRoom(path: string): SynclineError {
  return new SynclineError('storage-full', `cannot append to ${path}: no space left`, {
    outcome: 'unknown',
  });
}

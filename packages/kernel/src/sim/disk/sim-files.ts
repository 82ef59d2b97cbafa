// The Files port over a simulated disk, as one process sees it.
import type { FileStat, Files } from '../../files/files.js';
import { hashBytes } from '../trace.js';
import type { DiskAccess } from './disk-access.js';
import { failedDisk, fullDisk } from './disk-errors.js';
import { appendTo } from './file-node.js';
import type { FileTree } from './file-tree.js';

export class SimFiles implements Files {
  readonly #tree: FileTree;
  readonly #disk: DiskAccess;
  /** The wall clock of the machine, for `modifiedMs`. */
  readonly #wallMs: () => number;

  constructor(deps: { tree: FileTree; disk: DiskAccess; wallMs: () => number }) {
    this.#tree = deps.tree;
    this.#disk = deps.disk;
    this.#wallMs = deps.wallMs;
  }

  readAt(path: string, offset: number, length: number): Promise<Uint8Array> {
    return this.#disk.perform('read', path, () =>
      this.#tree.file(path).content.slice(offset, offset + length),
    );
  }

  append(path: string, bytes: Uint8Array): Promise<void> {
    return this.#disk.perform('append', path, (verdict) => {
      const file = this.#tree.fileToAppend(path, this.#wallMs());
      const taken = verdict === 'ok' ? bytes : bytes.subarray(0, bytes.length >> 1);
      appendTo(file, taken, this.#wallMs());
      this.#disk.note(verdict, path, hashBytes(taken));
      if (verdict !== 'ok') throw fullDisk(path);
    });
  }

  sync(path: string): Promise<void> {
    return this.#disk.perform('sync', path, (verdict) => {
      const file = this.#tree.file(path);
      if (file.hasFailed) throw failedDisk(path, 'before');
      if (verdict === 'failed') {
        file.hasFailed = true;
        throw failedDisk(path, 'now');
      }
      file.syncedBytes = file.content.length;
    });
  }

  rename(from: string, to: string): Promise<void> {
    return this.#disk.perform('names', to, (verdict) => {
      if (verdict !== 'ok') throw fullDisk(to);
      this.#tree.rename(from, to);
    });
  }

  syncDir(path: string): Promise<void> {
    return this.#disk.perform('sync-names', path, (verdict) => {
      if (verdict === 'failed') throw failedDisk(path, 'now');
      this.#tree.syncNames(this.#tree.directory(path));
    });
  }

  list(path: string): Promise<readonly string[]> {
    return this.#disk.perform('read', path, () => {
      const names = [...this.#tree.directory(path).entries.keys()];
      return names.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    });
  }

  stat(path: string): Promise<FileStat | undefined> {
    return this.#disk.perform('read', path, () => {
      const node = this.#tree.find(path);
      if (node === undefined) return undefined;
      const bytes = node.kind === 'file' ? node.content.length : 0;
      return { kind: node.kind, bytes, inode: node.inode, modifiedMs: node.modifiedMs };
    });
  }

  remove(path: string): Promise<void> {
    return this.#disk.perform('names', path, () => this.#tree.remove(path)); // also when the disk is full
  }

  makeDir(path: string): Promise<void> {
    return this.#disk.perform('names', path, (verdict) => {
      if (verdict !== 'ok') throw fullDisk(path);
      this.#tree.makeDirectories(path, this.#wallMs());
    });
  }
}

// The Files port over a simulated disk, as one process sees it.
import { splitPath } from '../../files/file-path.js';
import { checkPlace } from '../../files/file-place.js';
import type { AppendHandle, FileStat, Files } from '../../files/files.js';
import { hashBytes } from '../trace.js';
import type { DiskAccess } from './disk-access.js';
import { checkSync, simulatedError } from './disk-error.js';
import type { DiskOperationKind, Verdict } from './disk-plan.js';
import type { FileTree } from './file-tree.js';
import { SimAppendHandle } from './sim-append-handle.js';

export interface SimFilesDeps {
  readonly tree: FileTree;
  readonly disk: DiskAccess;
  /** The wall clock of the machine, for `modifiedMs`. */
  readonly wallMs: () => number;
}

export class SimFiles implements Files {
  readonly #tree: FileTree;
  readonly #disk: DiskAccess;
  readonly #wallMs: () => number;

  constructor(deps: SimFilesDeps) {
    this.#tree = deps.tree;
    this.#disk = deps.disk;
    this.#wallMs = deps.wallMs;
  }

  async readAt(path: string, offset: number, length: number): Promise<Uint8Array> {
    checkPlace(offset, length);
    return this.#perform('read', path, () =>
      this.#tree.file(path).content.slice(offset, offset + length),
    );
  }

  append(path: string, bytes: Uint8Array): Promise<void> {
    return this.#perform('append', path, (verdict) => {
      const file = this.#tree.fileToAppend(path, this.#wallMs());
      const taken = verdict === 'ok' ? bytes : bytes.subarray(0, bytes.length >> 1);
      file.content.append(taken);
      file.modifiedMs = this.#wallMs();
      this.#disk.note(verdict, path, hashBytes(taken));
      if (verdict === 'ok') return;
      throw simulatedError('ENOSPC', { action: 'append to', path, outcome: 'unknown' });
    });
  }

  openAppend(path: string): AppendHandle {
    const subject = splitPath(path).join('/');
    return this.#disk.performNow('handle-open', subject, (verdict) => {
      const attempt = { action: 'open', path };
      if (verdict === 'no-descriptors') throw simulatedError('EMFILE', attempt);
      if (verdict === 'failed') throw simulatedError('EIO', attempt);
      if (verdict === 'full' && this.#tree.find(path) === undefined) {
        throw simulatedError('ENOSPC', attempt);
      }
      const file = this.#tree.fileToAppend(path, this.#wallMs());
      return new SimAppendHandle({
        path: subject,
        file,
        disk: this.#disk,
        wallMs: this.#wallMs,
      });
    });
  }

  sync(path: string): Promise<void> {
    return this.#perform('sync', path, (verdict) => {
      const file = this.#tree.file(path);
      checkSync(path, file, verdict);
      file.content.completeSync(file.content.beginSync());
    });
  }

  rename(from: string, to: string): Promise<void> {
    return this.#perform('names', to, (verdict) => {
      if (verdict !== 'ok') {
        throw simulatedError('ENOSPC', { action: 'rename', path: from, outcome: 'unknown' });
      }
      this.#tree.rename(from, to);
    });
  }

  /** Covers the names at the time of the call, not those added while it runs. */
  syncDir(path: string): Promise<void> {
    const through = this.#tree.changesCount;
    return this.#perform('sync-names', path, (verdict) => {
      const directory = this.#tree.directory(path);
      checkSync(path, directory, verdict);
      this.#tree.syncNames(directory, through);
    });
  }

  list(path: string): Promise<readonly string[]> {
    return this.#perform('read', path, () => {
      const names = [...this.#tree.directory(path).entries.keys()];
      return names.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    });
  }

  stat(path: string): Promise<FileStat | undefined> {
    return this.#perform('read', path, () => {
      const node = this.#tree.find(path);
      if (node === undefined) return undefined;
      const bytes = node.kind === 'file' ? node.content.length : 0;
      return { kind: node.kind, bytes, inode: node.inode, modifiedMs: node.modifiedMs };
    });
  }

  remove(path: string): Promise<void> {
    return this.#perform('names', path, () => this.#tree.remove(path)); // a full disk allows it
  }

  makeDir(path: string): Promise<void> {
    return this.#perform('names', path, (verdict) => {
      if (verdict !== 'ok' && this.#tree.find(path) === undefined) {
        throw simulatedError('ENOSPC', {
          action: 'create the directory',
          path,
          outcome: 'unknown',
        });
      }
      this.#tree.makeDirectories(path, this.#wallMs());
    });
  }

  /** The path is checked before the disk is used. */
  async #perform<T>(
    kind: DiskOperationKind,
    path: string,
    effect: (verdict: Verdict) => T,
  ): Promise<T> {
    const subject = splitPath(path).join('/');
    return this.#disk.perform(kind, subject, effect);
  }
}

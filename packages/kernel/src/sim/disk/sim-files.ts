// The Files port over a simulated disk, as one process sees it.
import type { SynclineError } from '../../error.js';
import { splitPath } from '../../files/file-path.js';
import { checkPlace } from '../../files/file-place.js';
import { fileSystemError } from '../../files/file-system-error.js';
import type { FileStat, Files } from '../../files/files.js';
import { hashBytes } from '../trace.js';
import type { DiskAccess, Verdict } from './disk-access.js';
import type { DiskOperationKind } from './disk-plan.js';
import { appendTo, type TreeNode } from './file-node.js';
import type { FileTree } from './file-tree.js';

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
      appendTo(file, taken, this.#wallMs());
      this.#disk.note(verdict, path, hashBytes(taken));
      if (verdict !== 'ok') throw diskError('append to', path, 'ENOSPC');
    });
  }

  sync(path: string): Promise<void> {
    return this.#perform('sync', path, (verdict) => {
      const file = this.#tree.file(path);
      checkSync(path, file, verdict);
      file.syncedBytes = file.content.length;
    });
  }

  rename(from: string, to: string): Promise<void> {
    return this.#perform('names', to, (verdict) => {
      if (verdict !== 'ok') throw diskError('rename', from, 'ENOSPC');
      this.#tree.rename(from, to);
    });
  }

  syncDir(path: string): Promise<void> {
    return this.#perform('sync-names', path, (verdict) => {
      const directory = this.#tree.directory(path);
      checkSync(path, directory, verdict);
      this.#tree.syncNames(directory);
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
      if (verdict !== 'ok') throw diskError('make the directory', path, 'ENOSPC');
      this.#tree.makeDirectories(path, this.#wallMs());
    });
  }

  /** A path is checked before the disk is asked. */
  async #perform<T>(
    kind: DiskOperationKind,
    path: string,
    effect: (verdict: Verdict) => T,
  ): Promise<T> {
    const subject = splitPath(path).join('/');
    return this.#disk.perform(kind, subject, effect);
  }
}

/** A failed sync is final: what was changed since the last one is unknown from then on. */
function checkSync(path: string, node: TreeNode, verdict: Verdict): void {
  if (verdict === 'ok' && !node.hasFailed) return;
  node.hasFailed = true;
  throw diskError('sync', path, 'EIO');
}

function diskError(action: string, path: string, errno: 'EIO' | 'ENOSPC'): SynclineError {
  const cause = new Error(`${errno} (simulated)`);
  return fileSystemError({ action, path, errno, cause, outcome: 'unknown' });
}

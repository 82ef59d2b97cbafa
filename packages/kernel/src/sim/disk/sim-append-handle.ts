// An append handle on a simulated disk.
//
// Its synchronous operations take effect at once and take no simulated time; the plan decides about each of them like
// any other operation of the disk. If the plan ends the process in the middle of one, the call throws ProcessEnded:
// the code after it does not run, as after a real kill.
import { SynclineError } from '../../error.js';
import { checkCut } from '../../files/file-place.js';
import type { AppendHandle } from '../../files/files.js';
import { hashBytes } from '../trace.js';
import type { DiskAccess } from './disk-access.js';
import { checkSync, simulatedWriteError } from './disk-error.js';
import type { FileNode } from './file-node.js';

export interface SimAppendHandleDeps {
  readonly path: string;
  readonly file: FileNode;
  readonly disk: DiskAccess;
  readonly wallMs: () => number;
}

export class SimAppendHandle implements AppendHandle {
  readonly path: string;
  readonly #deps: SimAppendHandleDeps;
  readonly #syncs = new Set<Promise<void>>();
  #length: number;
  #isClosed = false;

  constructor(deps: SimAppendHandleDeps) {
    this.path = deps.path;
    this.#deps = deps;
    this.#length = deps.file.content.length;
  }

  get length(): number {
    return this.#length;
  }

  append(parts: readonly Uint8Array[]): void {
    this.#checkOpen();
    const { path, file, disk, wallMs } = this.#deps;
    const bytes = Buffer.concat(parts);
    disk.performNow('handle-write', path, (verdict) => {
      const taken = verdict === 'ok' ? bytes : bytes.subarray(0, bytes.length >> 1);
      file.content.append(taken);
      file.modifiedMs = wallMs();
      this.#length += taken.length;
      disk.note(verdict, path, hashBytes(taken));
      if (verdict === 'ok') return;
      throw simulatedWriteError(verdict, { action: 'append to', path, outcome: 'unknown' });
    });
  }

  truncate(length: number): void {
    this.#checkOpen();
    checkCut(length, this.#length);
    const { path, file, disk, wallMs } = this.#deps;
    disk.performNow('handle-truncate', path, (verdict) => {
      disk.note(verdict, path, length);
      if (verdict !== 'ok') throw simulatedWriteError('failed', { action: 'truncate', path });
      file.content.truncate(length);
      file.modifiedMs = wallMs();
      this.#length = length;
    });
  }

  async sync(): Promise<void> {
    this.#checkOpen();
    const { path, file, disk } = this.#deps;
    const begun = file.content.beginSync();
    const synced = disk.perform('sync', path, (verdict) => {
      checkSync(path, file, verdict);
      file.content.completeSync(begun);
    });
    this.#syncs.add(synced);
    try {
      await synced;
    } finally {
      this.#syncs.delete(synced);
    }
  }

  async close(): Promise<void> {
    const { life } = this.#deps.disk;
    if (life.isDead) return life.never();
    this.#isClosed = true;
    await Promise.allSettled(this.#syncs);
  }

  #checkOpen(): void {
    if (!this.#isClosed) return;
    throw new SynclineError('closed', `the append handle of ${this.path} is closed`);
  }
}

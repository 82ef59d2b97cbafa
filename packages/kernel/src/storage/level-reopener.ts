// The state of a LevelDB store: which handle serves it now, and the effect of a failed write.
//
// Why a failed write closes the store. LevelDB appends each batch to a log. When the append fails half way, its
// position in the log is ahead of the file, and it continues as if nothing had happened: later batches are
// acknowledged, even synced, but lie where no reader of the log finds them, and are gone after a restart (in
// experiments up to all of the 100 writes that followed). A failed compaction makes it refuse every later write
// instead. Reopening fixes both: the log is read up to its last whole batch and becomes a table, and a new log
// begins.
//
//   open ─ disk full ─▶ full ─ a write finds space ─▶ reopening ─▶ open
//    └─ any other error ─▶ failed                      └─▶ full or failed, then without a handle to read
//
// K16  While full each write fails at once, reads continue, and the first write that finds space succeeds.
// K17  Once failed, always failed: an operation that met a disk error is not retried.
import { SynclineError } from '../error.js';
import type { Logger } from '../logger.js';
import { isNoRoom, levelWriteError } from './level-error.js';
import { fullStore, type Room } from './level-room.js';
import type { StorageHealth } from './storage.js';

/** What it needs from a `LevelHandle`. */
export interface ReopenableHandle {
  readonly directory: string;
  /** Later reads throw the result of `error`. */
  close(error?: () => SynclineError): Promise<void>;
}

export interface LevelReopenerDeps<Handle extends ReopenableHandle> {
  readonly logger: Logger;
  openHandle(): Promise<Handle>;
  /** See level-room.ts. */
  measureRoom(writeBytes: number): Promise<Room>;
  provideRoom(room: Room): Promise<void>;
}

export interface FailedWrite {
  readonly writeBytes: number;
  /** It is in the log completely, so only the sync can have failed. The next opening would apply it. */
  readonly isLogged: boolean;
}

type LifeState<Handle> =
  | { readonly kind: 'open'; readonly handle: Handle }
  | { readonly kind: 'reopening'; readonly done: Promise<void> }
  | Stopped<Handle>;

interface Stopped<Handle> {
  readonly kind: 'full' | 'failed';
  /** Undefined after a reopening that failed: then nothing can be read. */
  readonly handle: Handle | undefined;
  readonly error: SynclineError;
}

export class LevelReopener<Handle extends ReopenableHandle> {
  readonly #deps: LevelReopenerDeps<Handle>;
  readonly #directory: string;
  #state: LifeState<Handle>;

  constructor(deps: LevelReopenerDeps<Handle>, handle: Handle) {
    this.#deps = deps;
    this.#directory = handle.directory;
    this.#state = { kind: 'open', handle };
  }

  /** The handle to read from. Throws while there is none. */
  readable(): Handle {
    const state = this.#state;
    if (state.kind === 'reopening') throw this.#unavailable('is being reopened');
    if (state.kind === 'open') return state.handle;
    if (state.handle) return state.handle;
    throw state.kind === 'full' ? this.#unavailable('cannot be reopened: no space') : state.error;
  }

  /** Waits for a reopening. If one failed for lack of space it is retried, since reads depend on it. */
  async whenReadable(): Promise<void> {
    const state = this.#state;
    if (state.kind === 'reopening') await state.done;
    else if (state.kind === 'full' && !state.handle) await this.#reopen(undefined);
    this.readable();
  }

  /** The handle to write to now; undefined if the caller must await `writable`. */
  get ready(): Handle | undefined {
    return this.#state.kind === 'open' ? this.#state.handle : undefined;
  }

  /** The handle to write to. Reopens the store if it was full and there is space now. */
  async writable(writeBytes: number): Promise<Handle> {
    if (this.#state.kind === 'reopening') await this.#state.done;
    if (this.#state.kind === 'full') await this.#leaveFull(this.#state, writeBytes);
    const state = this.#state;
    switch (state.kind) {
      case 'open':
        return state.handle;
      case 'reopening':
        return this.writable(writeBytes);
      case 'full':
        throw state.error;
      case 'failed':
        throw this.#refused(state.error);
    }
  }

  /** Called when a write has failed. Resolves with the error for the writer. */
  async writeFailed(thrown: unknown, failed: FailedWrite): Promise<SynclineError> {
    const handle = this.readable();
    const error = await this.#explain(thrown, failed);
    if (error.code === 'storage-full') this.#fill(handle, error);
    else this.#fail(handle, error);
    return error;
  }

  health(): StorageHealth {
    const state = this.#state;
    switch (state.kind) {
      case 'open':
        return { kind: 'ok' };
      case 'reopening':
        return { kind: 'reopening' };
      case 'full':
      case 'failed':
        return { kind: state.kind, reason: state.error.message };
    }
  }

  async close(): Promise<void> {
    if (this.#state.kind === 'reopening') await this.#state.done;
    if (this.#state.kind !== 'reopening') await this.#state.handle?.close();
  }

  async #explain(thrown: unknown, { writeBytes, isLogged }: FailedWrite): Promise<SynclineError> {
    if (!isNoRoom(thrown) || isLogged) return levelWriteError(thrown, this.#directory);
    try {
      return fullStore(this.#directory, await this.#deps.measureRoom(writeBytes), thrown);
    } catch (unmeasured) {
      return levelWriteError(unmeasured, this.#directory);
    }
  }

  async #leaveFull({ handle }: Stopped<Handle>, writeBytes: number): Promise<void> {
    try {
      if (handle) await this.#deps.provideRoom(await this.#deps.measureRoom(writeBytes));
    } catch (thrown) {
      const error = SynclineError.from(thrown, 'storage-failed');
      if (error.code === 'storage-full') this.#state = { kind: 'full', handle, error };
      else this.#fail(handle, error);
      return;
    }
    await this.#reopen(handle);
  }

  async #reopen(old: Handle | undefined): Promise<void> {
    const done = this.#replaceHandle(old);
    this.#state = { kind: 'reopening', done };
    await done;
  }

  /** Never rejects: the result is in the state. */
  async #replaceHandle(old: Handle | undefined): Promise<void> {
    try {
      await old?.close(() => this.#unavailable('has been reopened; take a new snapshot'));
      const handle = await this.#deps.openHandle();
      this.#state = { kind: 'open', handle };
      this.#deps.logger.info('storage was reopened', { directory: this.#directory });
    } catch (thrown) {
      const error = SynclineError.from(thrown, 'storage-failed');
      if (error.code === 'storage-full') this.#fill(undefined, error);
      else this.#fail(undefined, error);
    }
  }

  #fill(handle: Handle | undefined, error: SynclineError): void {
    this.#state = { kind: 'full', handle, error };
    this.#deps.logger.warn('storage is full', error.details);
  }

  #fail(handle: Handle | undefined, error: SynclineError): void {
    this.#state = { kind: 'failed', handle, error };
    this.#deps.logger.error('storage failed', {
      directory: this.#directory,
      reason: error.message,
    });
  }

  #refused(cause: SynclineError): SynclineError {
    const message = `${this.#directory} accepts no more writes: ${cause.message}`;
    return new SynclineError('storage-failed', message, {
      details: { directory: this.#directory },
      cause,
    });
  }

  #unavailable(reason: string): SynclineError {
    return new SynclineError('unavailable', `the store in ${this.#directory} ${reason}`, {
      details: { directory: this.#directory },
    });
  }
}

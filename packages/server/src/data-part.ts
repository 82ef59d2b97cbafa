// The node's data in the server's lifecycle: one claimed directory with a subdirectory per slice, or memory.
//
// LevelDB writes when it is opened, so a server could not start on a full disk, even just to serve reads. A
// reserve in the directory is released for such a start, and refilled when there is space again.
//
// Open files stay writable when their directory is removed, so the server would acknowledge writes that no restart
// will find. It looks at its directories now and then, and reports what is missing.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  assert,
  type Clock,
  createMemoryStorage,
  type Files,
  type LifecyclePart,
  type Logger,
  type Storage,
  SynclineError,
  type Timer,
} from '@syncline/kernel';
import { openLevelStorage } from '@syncline/kernel/level';
import {
  claimDirectory,
  createSystemFiles,
  type DirectoryClaim,
  DiskReserve,
} from '@syncline/kernel/node';
import type { ServerConfig } from './config/server-config.js';
import { serverLimits } from './limits.js';

export interface DataPartDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly config: ServerConfig;
  /** Aborted when this part stops, which is after all slices. */
  readonly end: AbortController;
}

export class DataPart implements LifecyclePart {
  readonly name = 'data';
  readonly #deps: DataPartDeps;
  readonly #files: Files;
  readonly #reserve: DiskReserve;
  /** Inodes of the directories in use. */
  readonly #used = new Map<string, string>();
  #lost: string | undefined;
  #claim: DirectoryClaim | undefined;
  /** Set if this start needed the reserve; it is then refilled only later. */
  #isReserveUsed = false;
  #refillTimer: Timer | undefined;

  constructor(deps: DataPartDeps) {
    this.#deps = deps;
    this.#files = createSystemFiles(deps.config.dataDir);
    const bytes = serverLimits.startReserveBytes.value;
    this.#reserve = new DiskReserve({ ...deps, files: this.#files }, { path: 'reserve', bytes });
  }

  /** Why the data will not survive a restart; undefined if nothing is known to be wrong. */
  get problem(): string | undefined {
    return this.#lost;
  }

  /** Rejects with `locked` and the name of the holder if another process is using the directory. */
  async start(): Promise<void> {
    const { config } = this.#deps;
    if (config.memory) return;
    try {
      this.#claim = await this.#withReserve(() => claimDirectory(this.#deps, config.dataDir));
    } catch (thrown) {
      await this.#reserve.close();
      throw thrown;
    }
    await this.#use('.');
    if (!this.#isReserveUsed) await this.#reserve.fill();
    this.#planRefill();
  }

  async openStorage(slice: string): Promise<Storage> {
    const { config } = this.#deps;
    if (config.memory) return createMemoryStorage(this.#deps);
    assert(this.#claim !== undefined, 'the directory is claimed before a store is opened');
    const directory = join(config.dataDir, slice, 'db');
    const storage = await this.#withReserve(() => openLevelStorage(this.#deps, { directory }));
    await this.#use(`${slice}/db`);
    return storage;
  }

  /** The directory of a slice; undefined when everything is in memory. */
  async openFiles(slice: string): Promise<Files | undefined> {
    const { config } = this.#deps;
    if (config.memory) return undefined;
    assert(this.#claim !== undefined, 'the directory is claimed before files are opened');
    const directory = join(config.dataDir, slice);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await this.#use(slice);
    await this.#files.syncDir('.'); // the new directory must survive a power loss, too
    return createSystemFiles(directory);
  }

  async stop(): Promise<void> {
    this.#refillTimer?.cancel();
    await this.#reserve.close();
    this.#deps.end.abort();
    await this.#claim?.release();
  }

  async #withReserve<Opened>(open: () => Promise<Opened>): Promise<Opened> {
    try {
      return await open();
    } catch (thrown) {
      if (!(thrown instanceof SynclineError) || thrown.code !== 'storage-full') throw thrown;
      await this.#reserve.fill(); // finds the file of an earlier run
      if (!this.#reserve.release()) throw thrown;
      this.#isReserveUsed = true;
      this.#deps.logger.warn('disk full, reserve released', { reason: thrown.message });
      return await open();
    }
  }

  async #use(directory: string): Promise<void> {
    const stat = await this.#files.stat(directory);
    if (stat !== undefined) this.#used.set(directory, stat.inode);
  }

  async #lookForLost(): Promise<void> {
    const { dataDir } = this.#deps.config;
    for (const [directory, inode] of this.#used) {
      const stat = await this.#files.stat(directory).catch(() => ({ inode })); // unreadable is not gone
      if (stat?.inode === inode) continue;
      this.#lost =
        `${join(dataDir, directory)} was removed or replaced while the server was using it. ` +
        'What it still accepts is lost when it stops. Restore the directory from a backup, then restart the server.';
      return;
    }
  }

  #planRefill(): void {
    const delayMs = serverLimits.startReserveRefillMs.value;
    this.#refillTimer = this.#deps.clock.setTimer(
      delayMs,
      () => {
        void this.#reserve.fill();
        void this.#lookForLost();
        this.#planRefill();
      },
      { unref: true },
    );
  }
}

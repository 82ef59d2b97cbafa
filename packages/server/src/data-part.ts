// The node's data in the server's lifecycle: one claimed directory with a part per slice, or memory.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  assert,
  type Clock,
  claimDirectory,
  createMemoryStorage,
  createSystemFiles,
  type DirectoryClaim,
  type Files,
  type LifecyclePart,
  type Logger,
  openLevelStorage,
  type Storage,
} from '@syncline/kernel';
import type { ServerConfig } from './config/server-config.js';

export interface DataPartDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly config: ServerConfig;
  /** Aborted when this part stops, and so after all slices. */
  readonly end: AbortController;
}

export class DataPart implements LifecyclePart {
  readonly name = 'data';
  readonly #deps: DataPartDeps;
  #claim: DirectoryClaim | undefined;

  constructor(deps: DataPartDeps) {
    this.#deps = deps;
  }

  /** Rejects with `locked`, and names the holder, when another process has the directory. */
  async start(): Promise<void> {
    const { config } = this.#deps;
    if (!config.memory) this.#claim = await claimDirectory(this.#deps, config.dataDir);
  }

  async openStorage(slice: string): Promise<Storage> {
    const { config } = this.#deps;
    if (config.memory) return createMemoryStorage(this.#deps);
    assert(this.#claim !== undefined, 'the directory is claimed before a store is opened');
    return openLevelStorage(this.#deps, { directory: join(config.dataDir, slice, 'db') });
  }

  /** The directory of a slice; undefined when everything is in memory. */
  async openFiles(slice: string): Promise<Files | undefined> {
    const { config } = this.#deps;
    if (config.memory) return undefined;
    assert(this.#claim !== undefined, 'the directory is claimed before files are opened');
    const directory = join(config.dataDir, slice);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    return createSystemFiles(directory);
  }

  async stop(): Promise<void> {
    this.#deps.end.abort();
    await this.#claim?.release();
  }
}

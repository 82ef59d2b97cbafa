// The node's data in the server's lifecycle: one claimed directory with a store per slice, or memory.
import { join } from 'node:path';
import {
  assert,
  type Clock,
  claimDirectory,
  createMemoryStorage,
  type DirectoryClaim,
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

  async stop(): Promise<void> {
    this.#deps.end.abort();
    await this.#claim?.release();
  }
}

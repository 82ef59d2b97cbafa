// An open simulated store, the counterpart of a LevelHandle. A store that found its disk full is reopened, and
// readers of the old handle (a snapshot, an unfinished range) get an error that says so.
//
// Its errors have the text of LevelDB's, so that the same code parses them.
import type { SynclineError } from '../../error.js';
import { levelOpenError } from '../../storage/level-error.js';
import { closedStore } from '../../storage/level-handle.js';
import type { ReopenableHandle } from '../../storage/level-reopener.js';
import type { WriteGroup } from '../../storage/write-queue.js';
import type { DiskAccess } from './disk-access.js';
import type { Verdict } from './disk-plan.js';
import type { StoreContent } from './store-content.js';
import { hashOperations, type StoreImage, type StoreRecord } from './store-image.js';

export interface SimHandleDeps {
  readonly image: StoreImage;
  readonly disk: DiskAccess;
}

export class SimHandle implements ReopenableHandle {
  readonly directory: string;
  readonly #image: StoreImage;
  readonly #disk: DiskAccess;
  #closedError: (() => SynclineError) | undefined;

  constructor(deps: SimHandleDeps) {
    this.directory = deps.image.name;
    this.#image = deps.image;
    this.#disk = deps.disk;
  }

  get content(): StoreContent {
    this.#checkOpen();
    return this.#image.content;
  }

  /** Returns the content of this moment while the store stays open, and throws afterwards. */
  view(): () => StoreContent {
    const { content } = this;
    return () => {
      this.#checkOpen();
      return content;
    };
  }

  async write(group: WriteGroup): Promise<void> {
    const { durability } = group;
    if (durability === 'secured') return this.#secure();
    const records = group.batches.map(({ operations }) => ({ operations, durability }));
    this.#image.begin(records);
    const kind = durability === 'synced' ? 'synced-write' : 'buffered-write';
    await this.#disk.perform(kind, this.directory, (verdict) => this.#land(records, verdict));
  }

  async close(error: () => SynclineError = () => closedStore(this.directory)): Promise<void> {
    this.#closedError ??= error;
  }

  #secure(): Promise<void> {
    return this.#disk.perform('secure', this.directory, (verdict) => {
      this.#disk.note(verdict, this.directory, 0);
      const error = levelTextOf(verdict, this.directory);
      if (error !== undefined) throw error;
      this.#image.secure();
    });
  }

  /** The group either reaches the disk or does not. After a failed sync that is unknown. */
  #land(records: readonly StoreRecord[], verdict: Verdict): void {
    for (const { operations } of records) {
      this.#disk.note(verdict, this.directory, hashOperations(operations));
    }
    if (verdict === 'ok') this.#image.commit();
    if (verdict === 'full') this.#image.discard();
    const error = levelTextOf(verdict, this.directory);
    if (error !== undefined) throw error;
  }

  #checkOpen(): void {
    if (this.#closedError) throw this.#closedError();
  }
}

/** Reopens a store, which takes time and space. */
export function reopenSimHandle(deps: SimHandleDeps): Promise<SimHandle> {
  const { disk, image } = deps;
  return disk.perform('reopen', image.name, (verdict) => {
    const error = levelTextOf(verdict, image.name);
    if (error !== undefined) throw levelOpenError(error, image.name);
    return new SimHandle(deps);
  });
}

/** The error message that LevelDB would give. */
function levelTextOf(verdict: Verdict, name: string): Error | undefined {
  if (verdict === 'ok') return undefined;
  const reason = verdict === 'full' ? 'No space left on device' : 'Input/output error';
  return new Error(`IO error: ${name} (simulated): ${reason}`);
}

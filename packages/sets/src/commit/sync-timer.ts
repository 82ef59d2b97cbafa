// In class `buffered` the disk is synced each second, if anything was written: by rewriting a small key.
//
// An empty batch would be skipped, so the batch holds the second at which it was written. With LevelDB one fsync
// covers the records before it in the same log. A log that has become full it closes without a sync, and makes a
// synced table of it at once: until that is there a loss of power may cost what the log took since the last
// sync, and all that came later, since the journal is read up to its first hole. To secure the storage instead
// would write a table each second.
import {
  type Clock,
  type Storage,
  StorageBatch,
  SynclineError,
  type Timer,
} from '@syncline/kernel';
import { setsLimits } from '../limits.js';
import { syncKey } from '../state/storage-keys.js';

export interface SyncTimerDeps {
  readonly storage: Pick<Storage, 'write'>;
  readonly clock: Clock;
  onFailed(error: SynclineError): void;
}

export class SyncTimer {
  readonly #deps: SyncTimerDeps;
  #timer: Timer | undefined;

  constructor(deps: SyncTimerDeps) {
    this.#deps = deps;
  }

  /** Call it after each buffered write. */
  written(): void {
    const sync = () => {
      this.#timer = undefined;
      void this.#sync();
    };
    this.#timer ??= this.#deps.clock.setTimer(setsLimits.syncIntervalMs.value, sync, {
      unref: true,
    });
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  async #sync(): Promise<void> {
    const { storage, clock, onFailed } = this.#deps;
    const second = Buffer.alloc(8);
    second.writeBigUInt64BE(BigInt(Math.floor(clock.nowMs() / 1000)));
    try {
      await storage.write(new StorageBatch().put(syncKey, second), { durability: 'synced' });
    } catch (thrown) {
      onFailed(SynclineError.from(thrown, 'storage-failed'));
    }
  }
}

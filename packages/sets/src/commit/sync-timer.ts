// In class `buffered` the disk is synced each second, if anything was written: by rewriting a small key.
//
// An empty batch would be skipped, so the batch holds the second at which it was written. With LevelDB
// one fsync of its log covers the records before it as well.
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

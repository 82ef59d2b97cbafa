// A storage that a test can delay.
import type { Storage, SynclineError } from '@syncline/kernel';

/** A disk whose writes can be delayed, or made to fail. */
export class HeldDisk {
  readonly #waiting: (() => void)[] = [];
  /** The number of batches that have reached it. */
  writesCount = 0;
  #held: 'before' | 'after' | undefined;
  /** The error of the next writes. */
  failure: SynclineError | undefined;

  constructor(storage: Storage) {
    const write = storage.write.bind(storage);
    storage.write = async (batch, options) => {
      this.writesCount += 1;
      await this.#pass('before');
      if (this.failure) throw this.failure;
      await write(batch, options);
      await this.#pass('after');
    };
  }

  /** Before they are written, or after: then readers of the storage see them, but no write was acknowledged. */
  hold(when: 'before' | 'after' = 'before'): void {
    this.#held = when;
  }

  release(): void {
    this.#held = undefined;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  async #pass(when: 'before' | 'after'): Promise<void> {
    if (this.#held === when) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}

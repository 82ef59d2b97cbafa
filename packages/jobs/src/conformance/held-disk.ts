// A storage that a test holds up.
import type { Storage, SynclineError } from '@syncline/kernel';

/** A disk whose writes can be held up, or made to fail. */
export class HeldDisk {
  readonly #waiting: (() => void)[] = [];
  /** Of batches that have reached it. */
  writesCount = 0;
  #isHeld = false;
  /** What the next writes fail with. */
  failure: SynclineError | undefined;

  constructor(storage: Storage) {
    const write = storage.write.bind(storage);
    storage.write = async (batch, options) => {
      this.writesCount += 1;
      if (this.#isHeld) await new Promise<void>((resolve) => this.#waiting.push(resolve));
      if (this.failure) throw this.failure;
      await write(batch, options);
    };
  }

  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

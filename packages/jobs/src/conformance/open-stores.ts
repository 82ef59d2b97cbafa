// Memory stores for the tests of one file, closed after each test: an open store keeps watching its leases, and a
// manager keeps renewing them, while the next files run in the same process.

import { createMemoryJobStore, type MemoryJobStoreDeps } from '../embedded/embedded-adapter.js';
import type { JobStore } from '../job-store.js';

export class OpenStores {
  #opened: AsyncDisposable[] = [];

  create(deps: Partial<MemoryJobStoreDeps> = {}): JobStore {
    return this.closing(createMemoryJobStore(deps));
  }

  /** Closes it too, before the stores that were created earlier. */
  closing<T extends AsyncDisposable>(opened: T): T {
    this.#opened.push(opened);
    return opened;
  }

  async close(): Promise<void> {
    const opened = this.#opened.toReversed();
    this.#opened = [];
    for (const each of opened) await each[Symbol.asyncDispose]();
  }
}

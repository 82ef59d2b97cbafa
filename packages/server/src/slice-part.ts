// One slice in the server's lifecycle, together with its store.
//
// The store is opened on request and closed after the slice has stopped, whether or not it started or stopped
// successfully.
import {
  assert,
  type Files,
  type LifecyclePart,
  type Storage,
  type StorageHealth,
  SynclineError,
} from '@syncline/kernel';
import { serverLimits } from './limits.js';
import type { CheckedSlice } from './readiness.js';
import type { SliceReport } from './server-status.js';
import type { RunningSlice, Slice, SliceDeps, SliceHealth, SliceStatus } from './slice.js';

export interface SlicePartDeps extends Omit<SliceDeps, 'openStorage' | 'openFiles'> {
  openStorage(slice: string): Promise<Storage>;
  openFiles(slice: string): Promise<Files | undefined>;
}

export class SlicePart implements LifecyclePart, CheckedSlice {
  readonly name: string;
  readonly #slice: Slice;
  readonly #deps: SlicePartDeps;
  #storage: Storage | undefined;
  #running: RunningSlice | undefined;
  #failure: SynclineError | undefined;

  constructor(deps: SlicePartDeps, slice: Slice) {
    this.name = slice.name;
    this.#deps = deps;
    this.#slice = slice;
  }

  /** Available once the slice has started. */
  get running(): RunningSlice {
    assert(this.#running !== undefined, `slice ${this.name} has started`);
    return this.#running;
  }

  async start(): Promise<void> {
    try {
      const openStorage = () => this.#openStorage();
      const fail = (error: SynclineError) => this.#fail(error);
      const openFiles = () => this.#deps.openFiles(this.name);
      this.#running = await this.#slice.start({ ...this.#deps, openStorage, openFiles, fail });
    } catch (thrown) {
      await this.#storage?.close();
      throw thrown;
    }
    assertContributions(this.#slice, this.#running);
  }

  async stop(signal: AbortSignal): Promise<void> {
    try {
      await this.#withinGrace(this.running.stop(signal), signal);
    } finally {
      await this.#storage?.close();
    }
  }

  health(): SliceHealth {
    return this.#status().health;
  }

  storageHealth(): StorageHealth | undefined {
    return this.#storage?.health();
  }

  report(): SliceReport {
    return { name: this.name, storage: this.storageHealth(), ...this.#status() };
  }

  #status(): SliceStatus {
    const status = this.#ownStatus();
    if (this.#failure === undefined) return status;
    return { ...status, health: { kind: 'failed', reason: this.#failure.message } };
  }

  /** A status that throws must not break /readyz and /api/status. */
  #ownStatus(): SliceStatus {
    if (this.#running === undefined) return notReady('starting');
    try {
      return this.#running.status();
    } catch (thrown) {
      this.#deps.logger.error('cannot read the status of a slice', { error: thrown });
      return notReady('status unavailable');
    }
  }

  #fail(error: SynclineError): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#deps.logger.error('slice failed', { code: error.code, error });
    this.#deps.fail(error);
  }

  async #openStorage(): Promise<Storage> {
    assert(this.#storage === undefined, `slice ${this.name} opens its store once`);
    this.#storage = await this.#deps.openStorage(this.name);
    return this.#storage;
  }

  /** A slice that has not stopped shortly after the grace period is abandoned. */
  async #withinGrace(stopping: Promise<void>, signal: AbortSignal): Promise<void> {
    const overrun = new AbortController();
    const late = (async () => {
      await abortOf(signal);
      await this.#deps.clock.sleep(serverLimits.stopOverrunMs.value, overrun.signal);
      throw new SynclineError('timeout', `slice ${this.name} did not stop in time`);
    })();
    late.catch(() => undefined); // it loses the race when the slice stops in time
    try {
      await Promise.race([stopping, late]);
    } finally {
      overrun.abort();
    }
  }
}

function notReady(reason: string): SliceStatus {
  return { health: { kind: 'not-ready', reason }, details: {} };
}

/** The checks before the start relied on what the slice declares. */
function assertContributions({ name, listeners }: Slice, running: RunningSlice): void {
  for (const listener of ['grpc', 'resp'] as const) {
    const isDeclared = listeners.includes(listener);
    assert(isDeclared === (running[listener] !== undefined), `slice ${name} declares ${listener}`);
  }
}

function abortOf(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

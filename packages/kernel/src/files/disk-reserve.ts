// Reserved disk space: a file of zeros that is released when the disk is full.
//
// A full disk must not stop the few writes that free space again, or that a start needs. Truncating the reserve frees
// its blocks synchronously. It is refilled in small steps, and a disk without space for it is not an error: there is
// just nothing to release.
import type { Clock } from '../clock.js';
import { SynclineError } from '../error.js';
import { kernelLimits } from '../limits.js';
import type { Logger } from '../logger.js';
import { isTemporary } from './file-system-error.js';
import type { AppendHandle, Files } from './files.js';

const STEP_BYTES = kernelLimits.diskReserveStepBytes.value;
const REFILL_MS = kernelLimits.diskReserveRefillMs.value;

export interface DiskReserveDeps {
  readonly files: Files;
  readonly logger: Logger;
  readonly clock: Clock;
}

export interface DiskReserveOptions {
  readonly path: string;
  /** 0 for none. */
  readonly bytes: number;
}

export class DiskReserve {
  readonly #deps: DiskReserveDeps;
  readonly #path: string;
  readonly #bytes: number;
  #handle: AppendHandle | undefined;
  #refilledAtMs = -Infinity;
  /** Its size when it was released; 0 once it has that size again. */
  #givenUpBytes = 0;
  #refusedAtMs = -Infinity;
  /** The file cannot be used for a reason other than lack of space. */
  #isBroken = false;
  #isClosed = false;

  constructor(deps: DiskReserveDeps, { path, bytes }: DiskReserveOptions) {
    this.#deps = deps;
    this.#path = path;
    this.#bytes = bytes;
  }

  get isFull(): boolean {
    return (this.#handle?.length ?? 0) >= this.#bytes;
  }

  /** Whether it was released and the space has not been reserved again yet. */
  get isGivenUp(): boolean {
    return !this.#isRestored;
  }

  /** For writers that may not use the reserved space. */
  noRoom(): SynclineError {
    const path = this.#path;
    const message = `no space left on the device beyond the reserve in ${path}. Free some space, then try again.`;
    return new SynclineError('storage-full', message, { details: { path } });
  }

  /** Releases the reserved space. False if there was none. */
  release(): boolean {
    const handle = this.#handle;
    if (handle === undefined || handle.length === 0) return false;
    const { length } = handle;
    if (!this.#attempt(() => handle.truncate(0))) return false;
    this.#givenUpBytes = Math.max(this.#givenUpBytes, length);
    return true;
  }

  /**
   * True unless the released space cannot be reserved again. That is attempted here, synchronously, and after a
   * failure at most once a second.
   */
  restore(): boolean {
    if (this.#isRestored) return true;
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - this.#refusedAtMs < REFILL_MS) return false;
    while (!this.#isRestored && this.#fillStep());
    if (!this.#isRestored) this.#refusedAtMs = nowMs;
    return this.#isRestored;
  }

  /** Refills it as far as there is space, one step per turn of the event loop. */
  async fill(): Promise<void> {
    if (this.#bytes === 0) await this.#removeFile().catch((thrown) => this.#report(thrown));
    while (this.#fillStep()) {
      await new Promise<void>((resolve) => {
        this.#deps.clock.defer(resolve);
      });
    }
  }

  /** Takes one step, if the last one was long enough ago. */
  refill(): void {
    if (this.isFull) return;
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - this.#refilledAtMs < REFILL_MS) return;
    this.#refilledAtMs = nowMs;
    this.#fillStep();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#handle?.close();
  }

  /** A reserve that cannot be used any more does not block anyone. */
  get #isRestored(): boolean {
    if (this.#isBroken || (this.#handle?.length ?? 0) >= this.#givenUpBytes) this.#givenUpBytes = 0;
    return this.#givenUpBytes === 0;
  }

  /** True if it took a step and is not full yet. */
  #fillStep(): boolean {
    if (this.isFull || this.#isBroken || this.#isClosed) return false;
    return this.#attempt(() => this.#grow()) && !this.isFull;
  }

  #grow(): void {
    this.#handle ??= this.#deps.files.openAppend(this.#path);
    const handle = this.#handle;
    const { length } = handle;
    if (length > this.#bytes) handle.truncate(this.#bytes); // it was larger before
    if (length >= this.#bytes) return;
    try {
      handle.append([new Uint8Array(Math.min(STEP_BYTES, this.#bytes - length))]);
    } catch (thrown) {
      handle.truncate(length); // the little space that is left is for others
      throw thrown;
    }
  }

  /** False if there was no space or no descriptor, or if the reserve cannot be used any more. */
  #attempt(change: () => void): boolean {
    try {
      change();
      return true;
    } catch (thrown) {
      if (!isTemporary(thrown)) this.#report(thrown);
      return false;
    }
  }

  #report(thrown: unknown): void {
    this.#isBroken = true;
    const { code, message } = SynclineError.from(thrown, 'storage-failed');
    this.#deps.logger.warn('disk reserve unusable', { path: this.#path, code, reason: message });
  }

  /** A file may be left over from a configuration with a reserve. */
  async #removeFile(): Promise<void> {
    const { files } = this.#deps;
    if ((await files.stat(this.#path)) !== undefined) await files.remove(this.#path);
  }
}

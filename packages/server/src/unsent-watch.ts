// Limits unsent bytes, that is, responses that clients do not read.
//
// Each connection has a limit: a call whose response might exceed it waits until earlier ones have been read. All
// connections together have another limit: above it, the clients that have read nothing for longest are cut, so
// that they do not affect the others. A client that reads nothing of a response for too long is cut in any case.
// Streams that the server fills only as fast as they are read may stall indefinitely, within the total limit.
import { type Clock, SynclineError } from '@syncline/kernel';
import type { LimitWatch } from './limit-watch.js';
import { serverLimits } from './limits.js';

export interface UnsentWatchDeps {
  readonly clock: Clock;
  readonly limits: LimitWatch;
}

export interface UnsentPartOptions {
  /** Bytes that the client has not read. */
  bytes(): number;
  /** Whether it is a stream that is filled only as fast as it is read. */
  readonly mayStall: boolean;
}

const SWEEP_MS = 250;
/** A client that has read something within this time is slow, not stalled. */
const SLOW_MS = 1_000;

export class UnsentWatch {
  readonly #deps: UnsentWatchDeps;
  readonly #connections = new Set<UnsentConnection>();
  #isSweeping = false;

  constructor(deps: UnsentWatchDeps) {
    this.#deps = deps;
  }

  /** `cut` closes the connection. Call `close` of the result when it has closed. */
  connection(cut: () => void): UnsentConnection {
    const connection = new UnsentConnection(this.#deps.clock, cut, () => {
      this.#connections.delete(connection);
    });
    this.#connections.add(connection);
    if (!this.#isSweeping) this.#sweepLater();
    return connection;
  }

  #sweepLater(): void {
    this.#isSweeping = true;
    this.#deps.clock.setTimer(SWEEP_MS, () => this.#sweep(), { unref: true });
  }

  #sweep(): void {
    const { clock, limits } = this.#deps;
    const nowMs = clock.monotonicMs();
    const stalled: { readonly connection: UnsentConnection; readonly bytes: number }[] = [];
    let total = 0;
    for (const connection of this.#connections) {
      const bytes = connection.measure(nowMs);
      total += bytes;
      if (connection.stalledMs(nowMs) >= serverLimits.unsentStallMs.value) {
        limits.reached('server', 'unsentStallMs');
        connection.cut();
      } else if (bytes > 0 && nowMs - connection.lastReadAtMs >= SLOW_MS) {
        stalled.push({ connection, bytes });
      }
    }
    if (total > serverLimits.unsentBytesMax.value) {
      limits.reached('server', 'unsentBytesMax');
      stalled.sort((a, b) => a.connection.lastReadAtMs - b.connection.lastReadAtMs);
      for (const { connection, bytes } of stalled) {
        if (total <= serverLimits.unsentBytesMax.value) break;
        connection.cut();
        total -= bytes;
      }
    }
    if (this.#connections.size > 0) this.#sweepLater();
    else this.#isSweeping = false;
  }
}

interface UnsentPart extends UnsentPartOptions {
  seenBytes: number;
  /** When it was last observed to shrink or to be empty. */
  lastReadAtMs: number;
}

interface Waiter {
  readonly bytes: number;
  resolve(): void;
  reject(error: SynclineError): void;
}

export class UnsentConnection {
  readonly #clock: Clock;
  readonly cut: () => void;
  readonly #onClose: () => void;
  readonly #parts = new Set<UnsentPart>();
  readonly #waiting: Waiter[] = [];
  #reservedBytes = 0;
  #isClosed = false;

  constructor(clock: Clock, cut: () => void, onClose: () => void) {
    this.#clock = clock;
    this.cut = cut;
    this.#onClose = onClose;
  }

  /** When the client last read anything. */
  get lastReadAtMs(): number {
    let latest = 0;
    for (const { seenBytes, lastReadAtMs } of this.#parts)
      if (seenBytes > 0) latest = Math.max(latest, lastReadAtMs);
    return latest;
  }

  /** Returns a function that removes it. */
  add(options: UnsentPartOptions): () => void {
    const part = { ...options, seenBytes: 0, lastReadAtMs: this.#clock.monotonicMs() };
    this.#parts.add(part);
    return () => {
      this.#parts.delete(part);
      this.#admit();
    };
  }

  /**
   * Reserves room for a response until `release`. Returns undefined if there is room now, otherwise a promise,
   * which rejects if the connection closes.
   */
  reserve(bytes: number): Promise<void> | undefined {
    if (this.#waiting.length === 0 && this.#hasRoom(bytes)) {
      this.#reservedBytes += bytes;
      return undefined;
    }
    return new Promise((resolve, reject) => this.#waiting.push({ bytes, resolve, reject }));
  }

  release(bytes: number): void {
    this.#reservedBytes -= bytes;
    this.#admit();
  }

  /** Returns the number of unsent bytes. */
  measure(nowMs: number): number {
    let total = 0;
    for (const part of this.#parts) {
      const bytes = part.bytes();
      if (bytes === 0 || bytes < part.seenBytes || part.seenBytes === 0) part.lastReadAtMs = nowMs;
      part.seenBytes = bytes;
      total += bytes;
    }
    this.#admit();
    return total;
  }

  /** For how long the client has read nothing of a response. */
  stalledMs(nowMs: number): number {
    let longest = 0;
    for (const { seenBytes, lastReadAtMs, mayStall } of this.#parts)
      if (seenBytes > 0 && !mayStall) longest = Math.max(longest, nowMs - lastReadAtMs);
    return longest;
  }

  close(): void {
    this.#isClosed = true;
    this.#onClose();
    const gone = new SynclineError('aborted', 'the connection was closed');
    for (const { reject } of this.#waiting.splice(0)) reject(gone);
  }

  #admit(): void {
    while (!this.#isClosed && this.#waiting[0] && this.#hasRoom(this.#waiting[0].bytes)) {
      const [next] = this.#waiting.splice(0, 1);
      this.#reservedBytes += next?.bytes ?? 0;
      next?.resolve();
    }
  }

  /** A response of any size fits if nothing else is unsent. */
  #hasRoom(bytes: number): boolean {
    let unsent = this.#reservedBytes;
    for (const part of this.#parts) if (!part.mayStall) unsent += part.bytes();
    return unsent === 0 || unsent + bytes <= serverLimits.connectionUnsentBytesMax.value;
  }
}

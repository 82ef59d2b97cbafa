// Closes a client connection on which no byte was sent or received for too long. It does not detect dead peers.
import type { Address, ChunkReader, Clock, CloseReason, Connection, Timer } from '@syncline/kernel';

export interface IdleLimitOptions {
  /** 0 keeps an idle connection open forever. */
  readonly idleTimeoutMs: number;
  /** Called once, just before the connection is dropped. */
  onIdle(): void;
}

/** Passes everything through and tracks activity. The timer is rescheduled when it fires, not for every chunk. */
export class IdleLimitedConnection implements Connection {
  readonly #inner: Connection;
  readonly #clock: Clock;
  readonly #options: IdleLimitOptions;
  #activeAtMs: number;
  #timer: Timer | undefined;

  constructor(
    deps: { readonly connection: Connection; readonly clock: Clock },
    options: IdleLimitOptions,
  ) {
    this.#inner = deps.connection;
    this.#clock = deps.clock;
    this.#options = options;
    this.#activeAtMs = deps.clock.monotonicMs();
    if (options.idleTimeoutMs > 0) this.#watch(options.idleTimeoutMs);
    void this.closed.then(() => this.#timer?.cancel());
  }

  get local(): Address {
    return this.#inner.local;
  }
  get remote(): Address {
    return this.#inner.remote;
  }
  get peerUris(): readonly string[] {
    return this.#inner.peerUris;
  }
  get unsentBytes(): number {
    return this.#inner.unsentBytes;
  }
  get closed(): Promise<CloseReason> {
    return this.#inner.closed;
  }

  readonly incoming: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => this.#chunks(),
  };

  readBy(reader: ChunkReader): void {
    this.#inner.readBy({
      ...(reader.isBorrowing && { isBorrowing: true }),
      take: (chunk) => {
        this.#activeAtMs = this.#clock.monotonicMs();
        return reader.take(chunk);
      },
      end: () => reader.end(),
    });
  }

  write(chunk: Uint8Array): boolean {
    this.#activeAtMs = this.#clock.monotonicMs();
    return this.#inner.write(chunk);
  }

  drained(signal?: AbortSignal): Promise<void> {
    return this.#inner.drained(signal);
  }

  end(): void {
    this.#inner.end();
  }

  destroy(reason?: Error): void {
    this.#inner.destroy(reason);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.#inner[Symbol.asyncDispose]());
  }

  async *#chunks(): AsyncGenerator<Uint8Array> {
    for await (const chunk of this.#inner.incoming) {
      this.#activeAtMs = this.#clock.monotonicMs();
      yield chunk;
    }
  }

  #watch(waitMs: number): void {
    this.#timer = this.#clock.setTimer(waitMs, () => {
      const silentMs = this.#clock.monotonicMs() - this.#activeAtMs;
      const leftMs = this.#options.idleTimeoutMs - silentMs;
      if (leftMs > 0) return this.#watch(leftMs);
      this.#options.onIdle();
      this.#inner.destroy();
    });
  }
}

// Network: byte streams with backpressure. TCP and TLS in production, simulated in tests.
//
// All run the same conformance suite (`networkSuite`). SPEC.md, section Network, numbers the promises.
// One thing no implementation can promise: a reset that arrives together with bytes may look like a clean end
// (libuv reports it so). A protocol therefore frames its messages, and treats an end in the middle of a frame
// as a reset.

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Why a connection is gone. `ended`: both sides finished cleanly. `reset` includes our `destroy`. */
export type CloseReason =
  | { readonly kind: 'ended' }
  | { readonly kind: 'reset'; readonly error: unknown };

/** Receives the chunks of a connection. Neither method throws. */
export interface ChunkReader {
  /**
   * The reader needs the bytes of a chunk only until `take` returns. They may then be in a buffer that is reused for
   * the next read, which saves an allocation for each.
   */
  readonly isBorrowing?: true;
  /** Return a promise to delay the next chunk, which eventually stops the peer. It never rejects. */
  take(chunk: Uint8Array): Promise<void> | undefined;
  /**
   * Called once, after the last chunk was taken, even while its promise is pending. When the connection is
   * gone, unread chunks are dropped.
   */
  end(): void;
}

/** Disposing of a connection destroys it. Await `closed` first if the last bytes must arrive. */
export interface Connection extends AsyncDisposable {
  readonly local: Address;
  readonly remote: Address;
  /** URI names of the peer's verified certificate; none without mutual TLS. */
  readonly peerUris: readonly string[];
  /**
   * Chunks as they arrive. Not pulling stops the peer. Ends with the peer's end, throws on a reset. Only one reader:
   * a second one fails an assertion. Leaving the loop early only stops reading.
   */
  readonly incoming: AsyncIterable<Uint8Array>;
  /** Instead of `incoming`: delivers chunks by plain calls as they arrive, without a promise for each. */
  readBy(reader: ChunkReader): void;
  /** Bytes accepted by `write` but not yet by the operating system. */
  readonly unsentBytes: number;
  /**
   * Always accepts the chunk; its bytes must not change afterwards. False: more than `highWaterBytes` is
   * unsent, wait for `drained`. Also false once `end` was called or the connection is gone: it is dropped.
   */
  write(chunk: Uint8Array): boolean;
  /**
   * Resolves once `unsentBytes` is at most `highWaterBytes`. Rejects with `closed` after `end` or
   * `destroy`, and with the cause when the connection is gone.
   */
  drained(signal?: AbortSignal): Promise<void>;
  /** Sends what is unsent, then ends our direction. The peer may continue to send. */
  end(): void;
  /** Drops the connection and what is unsent and unread, with a reset where the transport has one. */
  destroy(reason?: Error): void;
  /** Resolves when both directions are done. Never rejects. */
  readonly closed: Promise<CloseReason>;
}

export interface Listener extends AsyncDisposable {
  /** With the port that the system chose when 0 was asked for. */
  readonly address: Address;
  /** Stops accepting. Open connections are not affected. */
  close(): Promise<void>;
}

export interface Network {
  /**
   * `unavailable` with `details.reason` when the address is taken, not ours or not allowed. `accept` is
   * called before any of the connection's bytes are read, and never after `close` of the listener.
   */
  listen(address: Address, accept: (connection: Connection) => void): Promise<Listener>;
  /**
   * `unavailable` with `details.reason` when refused, unreachable or reset; `timeout` after
   * `connectTimeoutMs`; `unauthenticated` when the peer's certificate is not trusted.
   */
  connect(address: Address, options?: { readonly signal?: AbortSignal }): Promise<Connection>;
}

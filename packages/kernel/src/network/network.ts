// Network: byte streams with backpressure. TCP and TLS in production, simulated in tests.

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Why a connection is gone. `ended`: both sides finished in good order. */
export type CloseReason =
  | { readonly kind: 'ended' }
  | { readonly kind: 'reset'; readonly error: unknown };

export interface Connection extends AsyncDisposable {
  readonly local: Address;
  readonly remote: Address;
  /** URI names of the peer's verified certificate; none without mutual TLS. */
  readonly peerUris: readonly string[];
  /** Chunks as they arrive. Not pulling stops the peer. Ends with the peer's end, throws on a reset. One reader. */
  readonly incoming: AsyncIterable<Uint8Array>;
  /** Bytes taken by `write` and not yet by the operating system. */
  readonly unsentBytes: number;
  /** Takes the chunk, always. False: more than `highWaterBytes` is unsent, wait for `drained`. */
  write(chunk: Uint8Array): boolean;
  /** Resolves once `unsentBytes` is at most `highWaterBytes`; rejects when the connection is gone. */
  drained(signal?: AbortSignal): Promise<void>;
  /** Sends what is unsent, then ends our direction. The peer may go on sending. */
  end(): void;
  /** Drops the connection at once, with a reset where the transport has one. */
  destroy(reason?: Error): void;
  /** Resolves when both directions are done. Never rejects. */
  readonly closed: Promise<CloseReason>;
}

export interface Listener extends AsyncDisposable {
  /** With the port that the system chose when 0 was asked for. */
  readonly address: Address;
  /** Stops accepting. Connections that stand are not touched. */
  close(): Promise<void>;
}

export interface Network {
  /** `unavailable` with `details.reason` when the address is taken or not ours. */
  listen(address: Address, accept: (connection: Connection) => void): Promise<Listener>;
  /** `unavailable` when refused or unreachable; `timeout` after `connectTimeoutMs`. */
  connect(address: Address, options?: { readonly signal?: AbortSignal }): Promise<Connection>;
}

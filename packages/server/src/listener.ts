// What the server's four listeners have in common.

export type ListenerName = 'http' | 'grpc' | 'resp' | 'mesh';

/** The address of a listener, with the actual port if port 0 was requested. */
export interface ListeningAddress {
  readonly listener: ListenerName;
  readonly host: string;
  readonly port: number;
}

export interface ServerListener {
  readonly address: ListeningAddress;
  /**
   * Refuses new requests and waits for those in flight; when the signal fires, the remaining ones are aborted.
   * Resolves when the slices may stop. A second call returns the same promise.
   */
  drain(signal: AbortSignal): Promise<void>;
  /** Drains if necessary, then closes the port. */
  close(signal: AbortSignal): Promise<void>;
}

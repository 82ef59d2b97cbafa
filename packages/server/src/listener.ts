// What the server's four listeners have in common.

export type ListenerName = 'http' | 'grpc' | 'resp' | 'mesh';

/** Where a listener accepts, with the port that the system chose when 0 was asked for. */
export interface ListeningAddress {
  readonly listener: ListenerName;
  readonly host: string;
  readonly port: number;
}

export interface ServerListener {
  readonly address: ListeningAddress;
  /**
   * Accepts no new work and finishes what is in flight; when the signal fires the rest is cut. Resolves
   * when the slices may stop. A second call joins the first.
   */
  drain(signal: AbortSignal): Promise<void>;
  /** Drains if necessary, and releases the port. */
  close(signal: AbortSignal): Promise<void>;
}

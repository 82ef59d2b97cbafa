// The TCP settings, with defaults from the limits.
import { kernelLimits } from '../limits.js';
import type { Address } from './network.js';

export interface TcpNetworkOptions {
  /** Unsent bytes above which `write` returns false. Default 256 KiB. */
  readonly highWaterBytes?: number;
  /** Bytes read ahead of a connection's reader. More is faster and costs memory. Default 128 KiB. */
  readonly readAheadBytes?: number;
  /** How long `connect` may take, a TLS handshake included. Default 5 s. */
  readonly connectTimeoutMs?: number;
  /** Idle time after which the system probes whether the peer is still alive. Default 30 s. */
  readonly keepAliveDelayMs?: number;
  /** Connections of one listener at the same time; further ones are closed immediately. Default 10,000. */
  readonly connectionsMax?: number;
  /**
   * Called for each connection that a listener rejected. Unauthenticated clients can cause it, so count it
   * rather than log it.
   */
  readonly onRefused?: (refusal: Refusal) => void;
}

/** A connection that did not reach `accept`. */
export interface Refusal {
  readonly reason: 'connections-max' | 'handshake-failed' | 'accept-failed';
  /** The peer's address, if known. */
  readonly remote: Address | undefined;
  readonly error: Error | undefined;
}

export interface TcpSettings extends Required<TcpNetworkOptions> {
  readonly readAheadChunksMax: number;
}

export function tcpSettings(options: TcpNetworkOptions): TcpSettings {
  return {
    highWaterBytes: kernelLimits.connectionHighWaterBytes.value,
    readAheadBytes: kernelLimits.connectionReadAheadBytes.value,
    readAheadChunksMax: kernelLimits.connectionReadAheadChunksMax.value,
    connectTimeoutMs: kernelLimits.connectTimeoutMs.value,
    keepAliveDelayMs: kernelLimits.keepAliveDelayMs.value,
    connectionsMax: kernelLimits.listenerConnectionsMax.value,
    onRefused() {},
    ...options,
  };
}

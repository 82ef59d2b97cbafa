// The faults that a proxy can put on one direction of its connections.

export type ProxyDirection = 'to-target' | 'to-client';

/** Omitted faults are off. */
export interface ProxyFaults {
  /** What arrives from now on is passed on this much later. */
  readonly latencyMs?: number;
  /** And up to this much more, drawn again for each chunk. The order of the bytes stays. */
  readonly jitterMs?: number;
  readonly bytesPerSecond?: number;
  /** Cuts what passes into pieces of this size, each sent by itself. */
  readonly sliceBytes?: number;
  /** Resets each connection, on both sides, when this many more bytes of it have passed. */
  readonly resetAfterBytes?: number;
  /**
   * Bytes, ends and resets are swallowed, and new connections do not reach the target. That leaves a gap that TCP
   * would never show, so such a connection is reset when this is switched off.
   */
  readonly blackhole?: boolean;
}

/** How many bytes may leave at once: a slice, or what a slow line carries in 10 ms. */
export function pieceBytes({ sliceBytes, bytesPerSecond }: ProxyFaults): number {
  const slice = sliceBytes ?? Number.POSITIVE_INFINITY;
  const paced = bytesPerSecond === undefined ? Number.POSITIVE_INFINITY : bytesPerSecond / 100;
  return Math.max(1, Math.floor(Math.min(slice, paced)));
}

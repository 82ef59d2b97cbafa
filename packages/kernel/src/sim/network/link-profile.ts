// How a link between two simulated machines behaves.
//
// The Network port is a byte stream, so its users see what TCP lets through: bytes are never lost, duplicated
// or reordered, but may be late, split anywhere, held back by a partition, or cut off by a reset in the middle
// of a frame. Whole messages are lost, duplicated and reordered on message links (message-link.ts), on which
// the core of a protocol can be tested without sockets.

export interface LinkProfile {
  /** Usual time for one way, and how much it varies. */
  readonly delayMs: number;
  readonly jitterMs: number;
  /** Fraction of the packets that take far longer, as after a retransmission, and the longest delay. */
  readonly tailProbability: number;
  readonly tailMsMax: number;
  /** The bandwidth of each connection. */
  readonly bytesPerMs: number;
  /** Fraction of the chunks that arrive in two pieces. In half of them one piece is a single byte. */
  readonly cutProbability: number;
  /** Fraction of the chunks in the middle of which the connection is reset. */
  readonly resetProbability: number;
  /** Fraction of the connection attempts that are refused although there is a listener. */
  readonly refuseProbability: number;
  /** Message links only. */
  readonly lossProbability: number;
  readonly duplicateProbability: number;
}

export const calmLink: LinkProfile = {
  delayMs: 0.2,
  jitterMs: 0.3,
  tailProbability: 0,
  tailMsMax: 0,
  bytesPerMs: 100_000,
  cutProbability: 0.1,
  resetProbability: 0,
  refuseProbability: 0,
  lossProbability: 0,
  duplicateProbability: 0,
};

export const roughLink: LinkProfile = {
  delayMs: 1,
  jitterMs: 5,
  tailProbability: 0.05,
  tailMsMax: 2000,
  bytesPerMs: 1000,
  cutProbability: 0.3,
  resetProbability: 0.01,
  refuseProbability: 0.05,
  lossProbability: 0.1,
  duplicateProbability: 0.1,
};

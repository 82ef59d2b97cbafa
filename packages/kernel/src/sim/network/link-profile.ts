// How a link between two simulated machines behaves.
//
// The Network port is a byte stream, so its users see what TCP lets through: bytes are never lost,
// doubled or out of order, but late, cut anywhere, held back by a partition, or ended by a reset in the
// middle of a frame. Whole messages are lost, doubled and reordered on message links (message-link.ts),
// which a protocol's core can be tried on without a shell.

export interface LinkProfile {
  /** Usual time for one way, and how much it varies. */
  readonly delayMs: number;
  readonly jitterMs: number;
  /** Part of the packets that take far longer, as after a retransmission, and how long at most. */
  readonly tailProbability: number;
  readonly tailMsMax: number;
  /** Of each connection. */
  readonly bytesPerMs: number;
  /** Part of the chunks that arrive in two pieces. In half of them one piece is a single byte. */
  readonly cutProbability: number;
  /** Part of the chunks in the middle of which the connection is reset. */
  readonly resetProbability: number;
  /** Part of the connection attempts that are refused although somebody listens. */
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

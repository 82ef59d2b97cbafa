// The limits that a test may set lower, so that a few writes rotate the log, break a pin or take several turns.
import { setsLimits } from '../limits.js';

export const engineLimits = {
  logSegmentBytesMax: setsLimits.logSegmentBytesMax.value,
  logReserveBytes: setsLimits.logReserveBytes.value,
  checkpointLogBytesMin: setsLimits.checkpointLogBytesMin.value,
  checkpointBlockBytesMax: setsLimits.checkpointBlockBytesMax.value,
  stopReplayBytesMax: setsLimits.stopReplayBytesMax.value,
  pinsMax: setsLimits.pinsMax.value,
  pinEntriesMax: setsLimits.pinEntriesMax.value,
  pinBytesMax: setsLimits.pinBytesMax.value,
  turnMembersMax: setsLimits.turnMembersMax.value,
  /** Elements of a checkpoint between two looks at the clock. */
  checkpointStepRows: 128,
  /** Bytes of a checkpoint that are handed to the disk at once. */
  checkpointChunkBytes: 256 * 1024,
};

export type EngineLimits = Readonly<Record<keyof typeof engineLimits, number>>;

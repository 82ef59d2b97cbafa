// How a pull is divided into messages: limits that a test may set lower, and rules that both sides must agree on.
import { setsLimits } from '../limits.js';

export const pullLimits = {
  /**
   * If there are more unseen dots, or more bytes of them, they are loaded as they arrive, while clients get
   * `-LOADING`.
   */
  dotsMax: setsLimits.pullDotsMax.value,
  bytesMax: setsLimits.pullBytesMax.value,
  frameBytes: setsLimits.pullFrameBytes.value,
  framesAhead: setsLimits.pullFramesAhead.value,
  symbolsSmall: setsLimits.pullSymbolsSmall.value,
  symbolsMax: setsLimits.pullSymbolsMax.value,
  /** Elements between two checks of the clock. */
  stepRows: 256,
};

export type PullLimits = Readonly<Record<keyof typeof pullLimits, number>>;

const BLOCK_MIN = 32;
/** A block has this fraction of the symbols before it: a longer one would often be longer than needed. */
const BLOCK_PART = 16;
/** The approximate size of a symbol on the wire, and of a dot in a listing. */
const SYMBOL_BYTES = 21.5;
const LISTED_DOT_BYTES = 4;

/** Where the block ends that starts with symbol `from`. */
export function blockEnd(from: number): number {
  return from + Math.max(BLOCK_MIN, Math.floor(from / BLOCK_PART));
}

/** Whether the listing of this many dots costs less than the next block of symbols and those before it. */
export function isListingCheaper(dots: number, from: number): boolean {
  return blockEnd(from) * SYMBOL_BYTES > dots * LISTED_DOT_BYTES;
}

// Sizes that blocks come in: steps of 16 bytes up to 512, then eight steps per doubling.
//
// A size above 512 is stretched until a whole number of blocks fills a page, so that no page has a rest.
// A block is then at most an eighth larger than asked for, but for the few that a page holds three times.

/** A page. Its words can be counted in 16 bits. */
export const PAGE_BYTES = 262_144;

const STEP_BYTES = 16;
const FINE_BYTES_MAX = 512;

export interface SizeClasses {
  /** Bytes of a block, by class; they rise. */
  readonly blockBytes: readonly number[];
  /** The class of a size, by its number of started steps. */
  readonly classOfSteps: Uint8Array;
}

/** Up to one that holds `largestBytes`. */
export function createSizeClasses(largestBytes: number): SizeClasses {
  const blockBytes: number[] = [];
  for (let size = STEP_BYTES; size <= FINE_BYTES_MAX; size += STEP_BYTES) blockBytes.push(size);
  for (let size = FINE_BYTES_MAX, step = 1; (blockBytes.at(-1) ?? 0) < largestBytes; step += 1) {
    blockBytes.push(stretched(size + (size / 8) * step));
    if (step === 8) {
      size *= 2;
      step = 0;
    }
  }
  const distinct = [...new Set(blockBytes)];
  return { blockBytes: distinct, classOfSteps: classesBySteps(distinct) };
}

/** Index into `classOfSteps`. */
export function stepsOf(bytes: number): number {
  return (bytes + STEP_BYTES - 1) >>> 4;
}

function stretched(size: number): number {
  const perPage = Math.floor(PAGE_BYTES / size);
  return Math.floor(PAGE_BYTES / perPage / STEP_BYTES) * STEP_BYTES;
}

function classesBySteps(blockBytes: readonly number[]): Uint8Array {
  const classes = new Uint8Array(stepsOf(blockBytes.at(-1) ?? 0) + 1);
  let sizeClass = 0;
  for (let steps = 0; steps < classes.length; steps += 1) {
    if (steps * STEP_BYTES > (blockBytes[sizeClass] ?? 0)) sizeClass += 1;
    classes[steps] = sizeClass;
  }
  return classes;
}

// Patterns of KEYS and MATCH, with Redis's syntax and on bytes: `*`, `?`, `[a-z]`, `[^a]`, and `\` before a byte
// that stands for itself.
//
// Everything but `*` consumes exactly one byte of the text, so after a mismatch it is enough to let the last star
// consume one byte more. That takes at most pattern × text steps, where a matcher that recurses at each star can be
// kept busy for years by a short pattern. The steps are counted, since even that product can take minutes.
import { SynclineError } from '@syncline/kernel';
import type { ByteList } from '../byte-list.js';
import { setsLimits } from '../limits.js';

const STAR = 0x2a;
const QUESTION = 0x3f;
const OPEN = 0x5b;
const CLOSE = 0x5d;
const BACKSLASH = 0x5c;
const CARET = 0x5e;
const DASH = 0x2d;
/** Any number below 0 is a mismatch, and minus the steps that it took. */
const MISMATCH = -1;
/** Steps between two updates of the meter. */
const STEPS_PER_UPDATE = 4_096;
const stepsMax = setsLimits.patternStepsMax.value;
/** After this many steps, work in slices pauses and a page of a scan ends. */
const STEPS_PER_SLICE = stepsMax / 16;

/** Counts the steps of patterns within a turn. The commands of a transaction share one meter, as they share a turn. */
export class PatternMeter {
  #steps = 0;

  get isSliceUsed(): boolean {
    return this.#steps > STEPS_PER_SLICE;
  }

  /** A new turn has begun. */
  reset(): void {
    this.#steps = 0;
  }

  spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps <= stepsMax) return;
    throw new SynclineError(
      'invalid-argument',
      `the pattern takes more than ${stepsMax} steps, use a shorter one or one with fewer stars`,
      { details: { limit: 'patternStepsMax' } },
    );
  }
}

export class Glob {
  readonly #pattern: Uint8Array;
  readonly #matchesAll: boolean;
  readonly meter: PatternMeter;

  /** Keeps the bytes without copying them. Throws when there are too many. */
  constructor(pattern: Uint8Array, meter = new PatternMeter()) {
    checkLength(pattern);
    this.meter = meter;
    this.#pattern = pattern;
    this.#matchesAll = pattern.length === 1 && pattern[0] === STAR;
  }

  matchesItem(list: ByteList, index: number): boolean {
    return this.matches(list.buffer, list.start(index), list.end(index));
  }

  /** Throws when it would take too many steps. */
  matches(buffer: Uint8Array, start: number, end: number): boolean {
    if (this.#matchesAll) return true;
    const pattern = this.#pattern;
    // In Redis only the pattern `*` itself matches the empty text.
    if (start === end) return pattern.length === 0;
    let at = 0;
    let position = start;
    let afterStar = MISMATCH;
    let starEnd = start;
    let steps = 1;
    while (position < end) {
      if (pattern[at] === STAR) {
        afterStar = afterStars(pattern, at);
        steps += afterStar - at;
        at = afterStar;
        if (at < pattern.length) {
          starEnd = position;
          continue;
        }
        this.meter.spend(steps);
        return true;
      }
      const next = at < pattern.length ? step(pattern, at, buffer[position] ?? 0) : MISMATCH;
      steps += next < 0 ? -next : next - at;
      if (steps > STEPS_PER_UPDATE) {
        this.meter.spend(steps);
        steps = 0;
      }
      if (next >= 0) {
        at = next;
        position += 1;
      } else if (afterStar !== MISMATCH) {
        starEnd += 1;
        position = starEnd;
        at = afterStar;
      } else {
        this.meter.spend(steps);
        return false;
      }
    }
    const rest = afterStars(pattern, at);
    this.meter.spend(steps + rest - at);
    return rest === pattern.length;
  }
}

function afterStars(pattern: Uint8Array, from: number): number {
  let at = from;
  while (pattern[at] === STAR) at += 1;
  return at;
}

/** Where the pattern continues once this byte has matched; see MISMATCH for one that does not. */
function step(pattern: Uint8Array, at: number, byte: number): number {
  switch (pattern[at]) {
    case QUESTION:
      return at + 1;
    case OPEN:
      return stepOverClass(pattern, at + 1, byte);
    case BACKSLASH: {
      const literal = at + 1 < pattern.length ? at + 1 : at;
      return pattern[literal] === byte ? literal + 1 : MISMATCH;
    }
    default:
      return pattern[at] === byte ? at + 1 : MISMATCH;
  }
}

/** An unclosed class ends with the pattern. `]` may end a range, as in `[a-]`. */
function stepOverClass(pattern: Uint8Array, from: number, byte: number): number {
  const isNegated = pattern[from] === CARET;
  let at = isNegated ? from + 1 : from;
  let isMatch = false;
  while (at < pattern.length) {
    const left = pattern.length - at;
    const current = pattern[at] ?? 0;
    if (current === BACKSLASH && left >= 2) {
      if (pattern[at + 1] === byte) isMatch = true;
      at += 2;
    } else if (current === CLOSE) {
      at += 1;
      break;
    } else if (left >= 3 && pattern[at + 1] === DASH) {
      const other = pattern[at + 2] ?? 0;
      if (byte >= Math.min(current, other) && byte <= Math.max(current, other)) isMatch = true;
      at += 3;
    } else {
      if (current === byte) isMatch = true;
      at += 1;
    }
  }
  return isMatch === isNegated ? from - at - 1 : at;
}

function checkLength({ length }: Uint8Array): void {
  const lengthMax = setsLimits.patternBytesMax.value;
  if (length <= lengthMax) return;
  throw new SynclineError(
    'invalid-argument',
    `pattern is longer than ${lengthMax} bytes: it has ${length}`,
    { details: { limit: 'patternBytesMax' } },
  );
}

// Patterns of KEYS and of MATCH, in Redis's dialect and on bytes: `*`, `?`, `[a-z]`, `[^a]` and `\` before a
// byte that is meant as it is.
//
// Everything but `*` takes exactly one byte of the text, so after a mismatch it is enough to let the last
// star take one byte more. That makes at most pattern × text steps, where a matcher that calls itself for
// each star can be kept busy for years by a short pattern. The steps are counted, see pattern-meter.ts.
import { SynclineError } from '@syncline/kernel';
import { setsLimits } from '../limits.js';
import { PatternMeter } from './pattern-meter.js';

const STAR = 0x2a;
const QUESTION = 0x3f;
const OPEN = 0x5b;
const CLOSE = 0x5d;
const BACKSLASH = 0x5c;
const CARET = 0x5e;
const DASH = 0x2d;
/** Below 0: no match, after so many steps. */
const MISMATCH = -1;
/** Steps between two entries in the meter. */
const STEPS_PER_ENTRY = 4_096;

export class Glob {
  readonly #pattern: Uint8Array;
  readonly #matchesAll: boolean;
  readonly meter: PatternMeter;

  /** The bytes are kept, not copied. Throws when there are too many of them. */
  constructor(pattern: Uint8Array, meter = new PatternMeter()) {
    checkLength(pattern);
    this.meter = meter;
    this.#pattern = pattern;
    this.#matchesAll = pattern.length === 1 && pattern[0] === STAR;
  }

  /** Throws when that would take too many steps. */
  matches(buffer: Uint8Array, start: number, end: number): boolean {
    if (this.#matchesAll) return true;
    const pattern = this.#pattern;
    // In Redis no star but the lonely one matches the empty text.
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
      if (steps > STEPS_PER_ENTRY) {
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

/** Where the pattern goes on once this byte has matched; below 0 if it does not, see MISMATCH. */
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

/** A class that is not closed ends with the pattern. `]` may be the end of a range, as in `[a-]`. */
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

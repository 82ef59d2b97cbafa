// The words of SCAN and SSCAN behind the name: cursor, MATCH, COUNT and TYPE.
import type { ByteList } from '../byte-list.js';
import { setsLimits } from '../limits.js';
import { errorTexts } from './errors.js';
import { Glob } from './glob.js';
import { integerWord } from './integer-word.js';
import { isOption } from './option-word.js';
import type { PatternMeter } from './pattern-meter.js';

const COUNT_DEFAULT = 10;
const CURSOR = /^([+-]?)0*([0-9]{1,20})$/;
const CURSOR_MAX = 2n ** 64n - 1n;

/** Positions are below this. */
const POSITION_END = 2 ** 48;

export interface ScanOptions {
  readonly count: number;
  readonly glob: Glob | undefined;
  /** TYPE named something else than `set`, so nothing is shown. */
  readonly isOtherType: boolean;
}

export interface ScanWords {
  readonly takesType: boolean;
  /** Of the transaction that it is part of. */
  readonly patternMeter?: PatternMeter | undefined;
}

/**
 * The position that a cursor stands for; undefined if it is none. Redis reads it by strtoul: a sign, the
 * empty word and all that follows a null byte are taken. What lies behind the last position gives its end.
 */
export function cursorWord(args: ByteList, index: number): number | undefined {
  const text = args.text(index).split('\0', 1)[0] ?? '';
  if (text === '') return 0;
  const [, sign, digits = ''] = CURSOR.exec(text) ?? [];
  if (sign === undefined || BigInt(digits) > CURSOR_MAX) return undefined;
  const magnitude = Number(digits);
  return sign === '-' && magnitude > 0 ? POSITION_END : Math.min(magnitude, POSITION_END);
}

/** A text is the error to answer with. */
export function scanOptions(
  args: ByteList,
  from: number,
  { takesType, patternMeter }: ScanWords,
): ScanOptions | string {
  let count = COUNT_DEFAULT;
  let glob: Glob | undefined;
  let isOtherType = false;
  for (let index = from; index < args.length; index += 2) {
    const value = index + 1;
    if (value === args.length) return errorTexts.syntax;
    if (isOption(args, index, 'count')) {
      const number = integerWord(args, value);
      if (number === undefined) return errorTexts.notInteger;
      if (number < 1) return errorTexts.syntax;
      count = Math.min(number, setsLimits.scanCountMax.value);
    } else if (isOption(args, index, 'match')) {
      glob = new Glob(args.bytes(value), patternMeter);
    } else if (takesType && isOption(args, index, 'type')) {
      isOtherType = !isOption(args, value, 'set');
    } else {
      return errorTexts.syntax;
    }
  }
  return { count, glob, isOtherType };
}

export function isBehindAll(position: number): boolean {
  return position >= POSITION_END;
}

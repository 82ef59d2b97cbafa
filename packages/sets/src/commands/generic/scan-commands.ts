// KEYS, SCAN and SSCAN: names and members by pattern and by page.
//
// A cursor is a position in the order of the keyspace, so the server holds no state for it, and it is valid at every
// node. COUNT is the number of items that are looked at, not of those that match. Large items end a page early.
import { SynclineError } from '@syncline/kernel';
import { ByteCollector, type ByteList } from '../../byte-list.js';
import type { Keyspace, ScanFrom, VisitBytes } from '../../keyspace.js';
import { setsLimits } from '../../limits.js';
import type { Reply } from '../../resp/reply-writer.js';
import { type Command, commandsIn, keyAtFirst } from '../command.js';
import { errorTexts } from '../errors.js';
import { Glob, type PatternMeter } from '../glob.js';
import { pauseUnlessGone, writeBulks } from '../long-work.js';
import { integerWord, isOption } from '../words.js';

const define = commandsIn('generic');
const COUNT_DEFAULT = 10;
const CURSOR = /^([+-]?)0*([0-9]{1,20})$/;
const CURSOR_MAX = 2n ** 64n - 1n;
/** All positions are below this. */
const POSITION_END = 2 ** 48;

const PAGE_BYTES_MAX = setsLimits.turnBytesMax.value;
const namesBytesMax = setsLimits.resultBytesMax.value;
const NAMES_PER_PAGE = 256;
/** Items between two checks of the size of a page, and of the steps that its pattern has taken. */
const STEP = 256;
const MATCH_STEP = 64;
/** Bytes of items of average size that one step may take. */
const STEP_BYTES = PAGE_BYTES_MAX / 4;

const keys = define('keys', 2, ['readonly'], {
  syntax: 'pattern',
  summary: 'Returns the names of all sets that match a pattern.',
  difference:
    'Names of more than 32 MiB together are refused: use SCAN. More than 16,384 names are read in several turns; other clients may write in between.',
  estimate: ({ keyspace }, load) => load.reads(keyspace.setsCount()),
  run({ args, keyspace, patternMeter, reply }) {
    const glob = new Glob(args.bytes(1), patternMeter);
    const words = new ByteCollector();
    for (const names of pagesOfNames(keyspace)) {
      for (let name = 0; name < names.length; name += 1) {
        if (glob.matchesItem(names, name)) words.pushItem(names, name);
        const isLong = glob.meter.isSliceUsed || words.bytes > PAGE_BYTES_MAX;
        // Outside a transaction it can start again in slices.
        if (isLong && patternMeter === undefined)
          throw new SynclineError('limit-exceeded', 'KEYS takes longer than a turn');
      }
      if (words.bytes > namesBytesMax) return reply.error(errorTexts.keysTooLarge);
    }
    reply.array(words.list.length);
    for (let index = 0; index < words.list.length; index += 1) reply.bulkOf(words.list, index);
  },
  async runLong({ args, keyspace, reply }, signal) {
    const glob = new Glob(args.bytes(1));
    const pauseOf = pauseUnlessGone(keyspace, signal);
    const words = new ByteCollector();
    for (const names of pagesOfNames(keyspace)) {
      for (let name = 0; name < names.length; name += 1) {
        if (glob.matchesItem(names, name)) words.pushItem(names, name);
        if (glob.meter.isSliceUsed) {
          await pauseOf();
          glob.meter.reset();
        }
      }
      if (words.bytes > namesBytesMax) return reply.error(errorTexts.keysTooLarge);
      const pause = pauseOf();
      if (pause !== undefined) await pause;
    }
    reply.array(words.list.length);
    await writeBulks(reply, words.list, pauseOf);
  },
});

/** The names of all sets. The sets of a page may be removed before the next page is taken. */
export function* pagesOfNames(keyspace: Keyspace): Generator<ByteList, void, undefined> {
  let position = 0;
  do {
    const names = new ByteCollector();
    const from = { position, count: NAMES_PER_PAGE };
    position = keyspace.scanNames(from, (...name) => void names.push(...name));
    yield names.list;
  } while (position !== 0);
}

const scan = define('scan', -2, ['readonly'], {
  syntax: 'cursor [MATCH pattern] [COUNT count] [TYPE type]',
  summary: 'Iterates over the names of all sets.',
  difference: 'A cursor is valid on every node and after a restart. COUNT is at most 10,000.',
  estimate({ args, keyspace }, load) {
    const options = scanOptions(args, 2, { takesType: true });
    if (typeof options !== 'string') load.reads(Math.min(options.count, keyspace.setsCount()));
  },
  run(context) {
    const { args, keyspace, patternMeter, reply } = context;
    const position = cursorWord(args, 1);
    if (position === undefined) return reply.error(errorTexts.invalidCursor);
    const options = scanOptions(args, 2, { takesType: true, patternMeter });
    if (typeof options === 'string') return reply.error(options);
    writePage(reply, { ...options, position, stepMax: STEP }, (from, visit) =>
      keyspace.scanNames(from, visit),
    );
  },
});

const sscan = commandsIn('set')('sscan', -3, ['readonly'], {
  syntax: 'key cursor [MATCH pattern] [COUNT count]',
  summary: 'Iterates over the members of a set.',
  difference: 'A cursor is valid on every node and after a restart. COUNT is at most 10,000.',
  keys: keyAtFirst,
  estimate({ args, keyspace }, load) {
    const options = scanOptions(args, 3, { takesType: false });
    if (typeof options === 'string') return;
    load.picks(args, 1, Math.min(options.count, keyspace.cardinality(args, 1)));
  },
  run({ args, keyspace, patternMeter, reply }) {
    const position = cursorWord(args, 2);
    if (position === undefined) return reply.error(errorTexts.invalidCursor);
    // As in Redis, the words after the cursor do not matter if there is no such set.
    const cardinality = keyspace.cardinality(args, 1);
    if (cardinality === 0) return writePageOf(reply, 0, undefined);
    const options = scanOptions(args, 3, { takesType: false, patternMeter });
    if (typeof options === 'string') return reply.error(options);
    const meanBytes = 1 + keyspace.memberBytes(args, 1) / cardinality;
    const stepMax = Math.max(1, Math.min(STEP, Math.floor(STEP_BYTES / meanBytes)));
    writePage(reply, { ...options, position, stepMax }, (from, visit) =>
      keyspace.scan(args, 1, from, visit),
    );
  },
});

interface Page extends ScanOptions {
  readonly position: number;
  readonly stepMax: number;
}

function writePage(
  reply: Reply,
  { position: start, count, glob, isOtherType, stepMax }: Page,
  scanFrom: (from: ScanFrom, visit: VisitBytes) => number,
): void {
  if (start >= POSITION_END) {
    writePageOf(reply, 0, undefined);
    return;
  }
  const step = glob === undefined ? stepMax : Math.min(stepMax, MATCH_STEP);
  const matching = new ByteCollector();
  let position = start;
  let seen = 0;
  let seenBytes = 0;
  do {
    const from = { position, count: Math.min(step, count - seen) };
    position = scanFrom(from, (buffer, begin, end) => {
      seen += 1;
      seenBytes += end - begin;
      const isMatch = glob === undefined || glob.matches(buffer, begin, end);
      if (isMatch && !isOtherType) matching.push(buffer, begin, end);
    });
    if (seen >= count || seenBytes >= PAGE_BYTES_MAX || glob?.meter.isSliceUsed) break;
  } while (position !== 0);
  writePageOf(reply, position, matching.list);
}

/** `next` is 0 at the end. */
function writePageOf(reply: Reply, next: number, items: ByteList | undefined): void {
  reply.array(2);
  reply.bulkText(String(next));
  reply.array(items?.length ?? 0);
  if (items === undefined) return;
  for (let index = 0; index < items.length; index += 1) reply.bulkOf(items, index);
}

/**
 * The position of a cursor; undefined if it is invalid. Redis reads it with strtoul, which accepts a sign, the empty
 * word and anything after a null byte. A cursor beyond the last position stands for the end.
 */
export function cursorWord(args: ByteList, index: number): number | undefined {
  const text = args.text(index).split('\0', 1)[0] ?? '';
  if (text === '') return 0;
  const [, sign, digits = ''] = CURSOR.exec(text) ?? [];
  if (sign === undefined || BigInt(digits) > CURSOR_MAX) return undefined;
  const magnitude = Number(digits);
  return sign === '-' && magnitude > 0 ? POSITION_END : Math.min(magnitude, POSITION_END);
}

interface ScanOptions {
  readonly count: number;
  readonly glob: Glob | undefined;
  /** TYPE is not `set`, so nothing is shown. */
  readonly isOtherType: boolean;
}

interface ScanRules {
  readonly takesType: boolean;
  readonly patternMeter?: PatternMeter | undefined;
}

/** A text is the error to answer with. */
function scanOptions(
  args: ByteList,
  from: number,
  { takesType, patternMeter }: ScanRules,
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

export const scanCommands: readonly Command[] = [keys, scan, sscan];

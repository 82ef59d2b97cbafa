// SSCAN key cursor [MATCH pattern] [COUNT count]: a part of the members, and where to go on.
import type { ByteList } from '../../byte-list.js';
import { setsLimits } from '../../limits.js';
import type { Command } from '../command.js';
import { errorTexts } from '../errors.js';
import { refusesKeys } from '../name-limits.js';
import { cursorWord, isBehindAll, scanOptions } from '../scan-options.js';
import { fillPage, ScanPageBuilder, writeEmptyPage } from '../scan-page.js';
import { walksPart } from '../walks.js';

/** Members between two looks at the size of the page. */
const STEP = 256;
/** So many bytes of members of mean size, so that large ones end a page early. */
const STEP_BYTES = setsLimits.turnBytesMax.value / 4;
/** The same where each must match: so many of the longest do not take too many steps for an honest pattern. */
const MATCH_STEP = 64;

export const sscan: Command = {
  name: 'sscan',
  arity: -3,
  flags: ['readonly'],
  group: 'set',
  syntax: 'key cursor [MATCH pattern] [COUNT count]',
  summary: 'Shows a part of the members of a set, and the cursor of the next part.',
  difference: 'A cursor holds at every node and after a restart. COUNT above 10,000 is 10,000.',
  keys: { first: 1, last: 1, step: 1 },
  walks: (args) =>
    walksPart(args, {
      key: 1,
      members: countOf(args),
      repeats: false,
      removes: false,
      fits: 'any-set',
    }),
  run({ args, keyspace, patternMeter, reply }) {
    let position = cursorWord(args, 2);
    if (position === undefined) return reply.error(errorTexts.invalidCursor);
    if (refusesKeys(args, reply, 1)) return;
    // As in Redis, words behind the cursor are not looked at if there is no such set.
    if (keyspace.cardinality(args, 1) === 0) return writeEmptyPage(reply);
    const options = scanOptions(args, 3, { takesType: false, patternMeter });
    if (typeof options === 'string') return reply.error(options);
    if (isBehindAll(position)) return writeEmptyPage(reply);
    const page = new ScanPageBuilder(options);
    const meanBytes = 1 + keyspace.memberBytes(args, 1) / keyspace.cardinality(args, 1);
    const stepMax = options.glob === undefined ? STEP : MATCH_STEP;
    const step = Math.max(1, Math.min(stepMax, Math.floor(STEP_BYTES / meanBytes)));
    do {
      const count = Math.min(page.left, step);
      position = keyspace.scan(args, 1, { position, count }, (buffer, start, end) =>
        page.see(buffer, start, end),
      );
    } while (position !== 0 && !page.isFull);
    page.writeTo(reply, position);
  },
  async runLong({ args, keyspace, reply }) {
    const position = cursorWord(args, 2);
    if (position === undefined) return reply.error(errorTexts.invalidCursor);
    if (refusesKeys(args, reply, 1)) return;
    await keyspace.admit('read'); // the storage can be read now
    if (keyspace.cardinality(args, 1) === 0) return writeEmptyPage(reply);
    const options = scanOptions(args, 3, { takesType: false });
    if (typeof options === 'string') return reply.error(options);
    if (isBehindAll(position)) return writeEmptyPage(reply);
    const page = new ScanPageBuilder(options);
    using part = await keyspace.openMembers(args, 1, { position, count: options.count });
    page.writeTo(reply, await fillPage(page, part));
  },
};

/** Words that are wrong are left to `run`. */
function countOf(args: ByteList): number {
  const options = scanOptions(args, 3, { takesType: false });
  return typeof options === 'string' ? 0 : options.count;
}

// SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]: a part of the names of sets, and where to go on.
import type { ByteList } from '../../byte-list.js';
import type { Command } from '../command.js';
import { errorTexts } from '../errors.js';
import type { PatternMeter } from '../pattern-meter.js';
import { cursorWord, isBehindAll, scanOptions } from '../scan-options.js';
import { fillPage, ScanPageBuilder, writeEmptyPage } from '../scan-page.js';
import { walksKeyspace, walksNothing } from '../walks.js';
import { namesAtHand } from './names-at-hand.js';

export const scan: Command = {
  name: 'scan',
  arity: -2,
  flags: ['readonly'],
  group: 'generic',
  syntax: 'cursor [MATCH pattern] [COUNT count] [TYPE type]',
  summary: 'Shows a part of the names of all sets, and the cursor of the next part.',
  difference:
    'A cursor holds at every node and after a restart. COUNT above 10,000 is 10,000. Inside a transaction one call shows all names.',
  walks: (args) => (typeof parse(args) === 'string' ? walksNothing : walksKeyspace),
  run(context) {
    const { args, patternMeter, reply } = context;
    const words = parse(args, patternMeter);
    if (typeof words === 'string') return reply.error(words);
    const page = new ScanPageBuilder(words.options);
    for (const name of namesAtHand(context)) page.see(name, 0, name.length);
    page.writeTo(reply, 0);
  },
  async runLong({ args, keyspace, reply }) {
    const words = parse(args);
    if (typeof words === 'string') return reply.error(words);
    const { position, options } = words;
    if (isBehindAll(position)) return writeEmptyPage(reply);
    const page = new ScanPageBuilder(options);
    using part = await keyspace.openNames({ position, count: options.count });
    page.writeTo(reply, await fillPage(page, part));
  },
};

/** A text is the error to answer with. */
function parse(args: ByteList, patternMeter?: PatternMeter) {
  const position = cursorWord(args, 1);
  if (position === undefined) return errorTexts.invalidCursor;
  const options = scanOptions(args, 2, { takesType: true, patternMeter });
  return typeof options === 'string' ? options : { position, options };
}

// COMMAND: what the server supports, from the one table of commands.
import { ByteList } from '../../byte-list.js';
import { setsLimits } from '../../limits.js';
import type { Reply } from '../../resp/reply-writer.js';
import {
  type Command,
  type CommandFinder,
  type CommandFlag,
  commandsIn,
  type KeyPositions,
  type KnownCommand,
  withHelp,
} from '../command.js';
import { isArity } from '../dispatch.js';
import { errorTexts } from '../errors.js';
import { Glob } from '../glob.js';
import { integerWord, isOption } from '../words.js';

const flags: readonly CommandFlag[] = ['loading', 'stale'];
const define = commandsIn('server');
const wordsMax = setsLimits.askedWordsMax.value;
/** Describing a command costs as much as looking up this many names. */
const READS_PER_COMMAND = 4;
/** The index of the command whose keys COMMAND GETKEYS returns. */
const GETKEYS_FROM = 2;

/** `table` is called when a command runs, since COMMAND is part of the table. */
export function createCommandCommand(table: () => CommandFinder): Command {
  const count = define('count', 2, flags, {
    summary: 'Returns the number of commands.',
    run: ({ reply }) => reply.integer(table().all.length),
  });
  const list = define('list', -2, flags, {
    syntax: '[FILTERBY MODULE name | ACLCAT category | PATTERN pattern]',
    summary: 'Returns the names of the commands.',
    run({ args, reply }) {
      const isChosen = readFilter(args);
      if (isChosen === undefined) return reply.error(errorTexts.syntax);
      const all = table().all.flatMap((known) => [known, ...(known.subcommands?.all ?? [])]);
      const names = all.filter(isChosen).map(({ fullName }) => fullName);
      reply.array(names.length);
      for (const name of names) reply.bulkText(name);
    },
  });
  const getkeys = define('getkeys', -4, flags, {
    wordsMax,
    syntax: 'command [argument ...]',
    summary: 'Returns the keys in a full command.',
    run({ args, reply }) {
      const keys = keysWithin(table(), args);
      if (typeof keys === 'string') return reply.error(keys);
      reply.array(keys.length);
      for (const key of keys) reply.bulkOf(args, key);
    },
  });
  const docs = aboutNamed('docs', docsTexts, table, (reply, named) => {
    const known = named.filter((each) => each !== undefined);
    reply.map(known.length);
    for (const each of known) replyDocs(reply, each);
  });
  const info = aboutNamed('info', infoTexts, table, (reply, named) => {
    reply.array(named.length);
    for (const each of named) {
      if (each === undefined) reply.nullBulk();
      else replyEntry(reply, each);
    }
  });
  const subcommands = [count, docs, getkeys, info, list];
  return define('command', -1, flags, {
    summary: 'Returns information about all commands.',
    subcommands: withHelp(define, 'command', subcommands),
    estimate: (_, load) => load.reads(table().all.length * READS_PER_COMMAND),
    run({ reply }) {
      const { all } = table();
      reply.array(all.length);
      for (const known of all) replyEntry(reply, known);
    },
  });
}

/** COMMAND INFO and COMMAND DOCS: about the named commands, or about all of them. */
function aboutNamed(
  name: string,
  texts: Pick<Command, 'summary' | 'difference'>,
  table: () => CommandFinder,
  show: (reply: Reply, named: ReturnType<typeof namedCommands>) => void,
): Command {
  return define(name, -2, flags, {
    wordsMax,
    syntax: '[name ...]',
    ...texts,
    estimate: ({ args }, load) =>
      load.reads((args.length === 2 ? table().all.length : args.length - 2) * READS_PER_COMMAND),
    run: ({ args, reply }) => show(reply, namedCommands(table(), args)),
  });
}

const infoTexts = {
  summary: 'Returns information about the named commands, or about all of them.',
  difference: 'Hints and key specifications are not included.',
};
const docsTexts = {
  summary: 'Returns documentation of the named commands, or of all of them.',
  difference: 'Complexity, history and arguments are not included.',
};

/** All commands if none is named; undefined for a name that is unknown. */
function namedCommands(
  table: CommandFinder,
  args: ByteList,
): readonly (KnownCommand | undefined)[] {
  if (args.length === 2) return table.all;
  const named: (KnownCommand | undefined)[] = [];
  for (let index = 2; index < args.length; index += 1) {
    // `sadd`, or `config|get` for a subcommand.
    const [name = '', ...subcommand] = args.text(index).split('|');
    const known = findName(table, name);
    const isSubcommand = subcommand.length > 0;
    const subcommands = known?.subcommands;
    if (!isSubcommand) named.push(known);
    else named.push(subcommands && findName(subcommands, subcommand.join('|')));
  }
  return named;
}

function findName(table: CommandFinder, name: string): KnownCommand | undefined {
  return table.find(ByteList.of(Buffer.from(name, 'latin1')), 0);
}

/** Name, arity, flags, keys, categories, hints, key specifications and subcommands. */
function replyEntry(reply: Reply, { command, fullName, subcommands }: KnownCommand): void {
  const { arity, keys } = command;
  reply.array(10);
  reply.bulkText(fullName);
  reply.integer(arity);
  replyWords(reply, command.flags);
  reply.integer(keys?.first ?? 0);
  reply.integer(keys?.last ?? 0);
  reply.integer(keys?.step ?? 0);
  replyWords(reply, aclCategories(command));
  reply.set(0);
  reply.set(0);
  const children = subcommands?.all ?? [];
  reply.set(children.length);
  for (const child of children) replyEntry(reply, child);
}

function replyWords(reply: Reply, words: readonly string[]): void {
  reply.set(words.length);
  for (const word of words) reply.simple(word);
}

function replyDocs(reply: Reply, { command, fullName, subcommands }: KnownCommand): void {
  reply.bulkText(fullName);
  reply.map(subcommands === undefined ? 2 : 3);
  reply.bulkText('summary');
  reply.bulkText(command.summary);
  reply.bulkText('group');
  reply.bulkText(command.group);
  if (subcommands === undefined) return;
  reply.bulkText('subcommands');
  reply.map(subcommands.all.length);
  for (const subcommand of subcommands.all) replyDocs(reply, subcommand);
}

const categoryOfGroup: Readonly<Record<Command['group'], string | undefined>> = {
  set: '@set',
  generic: '@keyspace',
  connection: '@connection',
  server: undefined,
  transactions: '@transaction',
  syncline: undefined,
};

/** There are no access lists here, but clients use the categories to tell reads from writes. */
function aclCategories(command: Command): readonly string[] {
  const has = (flag: CommandFlag) => command.flags.includes(flag);
  const groupCategory = categoryOfGroup[command.group];
  return [
    ...(has('write') ? ['@write'] : []),
    ...(has('readonly') ? ['@read'] : []),
    ...(groupCategory === undefined ? [] : [groupCategory]),
    ...(has('admin') ? ['@admin', '@dangerous'] : []),
    has('fast') ? '@fast' : '@slow',
  ];
}

/** The filter of COMMAND LIST; undefined if the words do not form one. */
function readFilter(args: ByteList): ((known: KnownCommand) => boolean) | undefined {
  if (args.length === 2) return () => true;
  if (args.length !== 5 || !isOption(args, 2, 'filterby')) return undefined;
  if (isOption(args, 3, 'module')) return () => false;
  if (isOption(args, 3, 'aclcat')) {
    const category = `@${args.text(4).toLowerCase()}`;
    return ({ command }) => aclCategories(command).includes(category);
  }
  if (!isOption(args, 3, 'pattern')) return undefined;
  const glob = new Glob(Buffer.from(args.text(4).toLowerCase(), 'latin1'));
  return ({ fullName }) => glob.matches(Buffer.from(fullName), 0, fullName.length);
}

/** A text is the error to answer with. */
function keysWithin(table: CommandFinder, args: ByteList): readonly number[] | string {
  const command = table.find(args, GETKEYS_FROM);
  const hasSubcommand = command?.subcommands !== undefined && args.length > GETKEYS_FROM + 1;
  const known = hasSubcommand ? command.subcommands?.find(args, GETKEYS_FROM + 1) : command;
  if (known === undefined) return errorTexts.commandInvalid;
  const { keys, arity } = known.command;
  if (keys === undefined) return errorTexts.commandHasNoKeys;
  if (!isArity(arity, args.length - GETKEYS_FROM)) return errorTexts.commandArgumentsCount;
  return keyIndices(keys, args, GETKEYS_FROM) ?? errorTexts.commandArguments;
}

/** Indices into `args`, whose words from `from` on are the command; undefined if they make no sense. */
function keyIndices(
  keys: KeyPositions,
  args: ByteList,
  from: number,
): readonly number[] | undefined {
  const words = args.length - from;
  const { countAt } = keys;
  if (countAt !== undefined) {
    const count = integerWord(args, from + countAt);
    if (count === undefined || count < 1 || count > words - countAt - 1) return undefined;
    return Array.from({ length: count }, (_, index) => from + countAt + 1 + index);
  }
  const last = keys.last < 0 ? words + keys.last : keys.last;
  const indices: number[] = [];
  for (let index = keys.first; index <= last; index += keys.step) indices.push(from + index);
  return indices;
}

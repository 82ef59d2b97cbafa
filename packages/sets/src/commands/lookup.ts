// From the words of a command to the command, or to the error for words that name none.
//
// A command is found by the bytes of its name, without making a string: an open hash table over all names, with
// the case folded away. What the flags of a command mean for the dispatch is worked out once, when the table is made.
import type { ByteList } from '../byte-list.js';
import { setsLimits } from '../limits.js';
import { absenceRemark } from './absent-commands.js';
import type { Command, CommandFinder, CommandFlag, KeyPositions, KnownCommand } from './command.js';
import { errorFor, errorTexts } from './errors.js';
import { integerWord } from './words.js';

const keyBytesMax = setsLimits.keyBytesMax.value;
/** An error text never shows more words than this. */
const SHOWN_WORDS_MAX = 64;

/** These run at once inside MULTI. */
const neverQueued: ReadonlySet<string> = new Set([
  'multi',
  'exec',
  'discard',
  'watch',
  'quit',
  'reset',
]);

export class CommandLookup implements CommandFinder {
  readonly all: readonly KnownCommand[];
  readonly #slots: readonly (Slot | undefined)[];
  readonly #mask: number;
  readonly #nameBytesMax: number;

  constructor(commands: readonly Command[], container?: string) {
    this.all = commands.map((command) => knownCommand(command, container));
    const size = 2 ** Math.ceil(Math.log2(Math.max(1, commands.length) * 4));
    this.#mask = size - 1;
    const slots: (Slot | undefined)[] = Array.from({ length: size }, () => undefined);
    for (const known of this.all) {
      const name = Buffer.from(known.command.name, 'latin1');
      let slot = hashOf(name, 0, name.length) & this.#mask;
      while (slots[slot] !== undefined) slot = (slot + 1) & this.#mask;
      slots[slot] = { name, known };
    }
    this.#slots = slots;
    this.#nameBytesMax = Math.max(0, ...commands.map(({ name }) => name.length));
  }

  find(args: ByteList, index: number): KnownCommand | undefined {
    const start = args.start(index);
    const end = args.end(index);
    if (end - start > this.#nameBytesMax) return undefined;
    const buffer = args.buffer;
    let position = hashOf(buffer, start, end) & this.#mask;
    for (;;) {
      const slot = this.#slots[position];
      if (slot === undefined) return undefined;
      if (isName(slot.name, buffer, start, end)) return slot.known;
      position = (position + 1) & this.#mask;
    }
  }
}

interface Slot {
  readonly name: Uint8Array;
  readonly known: KnownCommand;
}

function knownCommand(command: Command, container: string | undefined): KnownCommand {
  const { name, subcommands } = command;
  const has = (flag: CommandFlag) => command.flags.includes(flag);
  const fullName = container === undefined ? name : `${container}|${name}`;
  return {
    command,
    fullName,
    access: has('write') ? 'write' : has('readonly') ? 'read' : undefined,
    makesOperations: has('write') || fullName === 'exec',
    isOpen: has('no_auth'),
    // Redis refuses PING while it loads; here it answers, because the node is alive.
    isLoadable: has('loading') || fullName === 'ping',
    isDeniedOnOom: has('denyoom'),
    isNeverQueued: neverQueued.has(fullName),
    isRefusedInMulti: has('no_multi') || command.waits === true,
    subcommands: subcommands === undefined ? undefined : new CommandLookup(subcommands, name),
  };
}

/** Bit 5 is the difference between upper and lower case; with it set, both have the same hash. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = end - start;
  for (let at = start; at < end; at += 1)
    hash = (Math.imul(hash, 31) + ((bytes[at] ?? 0) | 0x20)) | 0;
  return hash;
}

function isName(name: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (name.length !== end - start) return false;
  for (let at = 0; at < name.length; at += 1) {
    const byte = bytes[start + at] ?? 0;
    const isUpper = byte >= 0x41 && byte <= 0x5a;
    if (name[at] !== (isUpper ? byte | 0x20 : byte)) return false;
  }
  return true;
}

/** The command that the words name, or the error to answer with. */
export function resolveCommand(table: CommandFinder, args: ByteList): KnownCommand | string {
  const command = table.find(args, 0);
  if (command === undefined) return unknownCommand(args);
  let known = command;
  if (command.subcommands !== undefined && args.length > 1) {
    const subcommand = command.subcommands.find(args, 1);
    if (subcommand === undefined) return errorFor.unknownSubcommand(command.fullName, args.text(1));
    known = subcommand;
  }
  const { arity, wordsMax, keys } = known.command;
  if (!isArity(arity, args.length)) return errorFor.wrongArguments(known.fullName);
  if (wordsMax !== undefined && args.length > wordsMax)
    return errorFor.tooManyWords(known.fullName, wordsMax);
  if (keys !== undefined && hasLongKey(keys, args)) return errorTexts.keyTooLong;
  return known;
}

function hasLongKey({ first, last, step, countAt }: KeyPositions, args: ByteList): boolean {
  if (countAt !== undefined) {
    const count = integerWord(args, countAt) ?? 0;
    return hasLongKey({ first: countAt + 1, last: countAt + count, step: 1 }, args);
  }
  const end = Math.min(args.length, last < 0 ? args.length + last + 1 : last + 1);
  for (let key = first; key < end; key += step) if (args.sizeOf(key) > keyBytesMax) return true;
  return false;
}

/** A negative arity is the least number of words. */
export function isArity(arity: number, words: number): boolean {
  return arity < 0 ? words >= -arity : words === arity;
}

function unknownCommand(args: ByteList): string {
  const words: string[] = [];
  const shown = Math.min(args.length, SHOWN_WORDS_MAX);
  for (let index = 0; index < shown; index += 1) words.push(args.text(index));
  return errorFor.unknownCommand(words, absenceRemark(args.text(0)));
}

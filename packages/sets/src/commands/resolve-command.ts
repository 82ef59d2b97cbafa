// Which command the words mean, or why none: an unknown name, an unknown subcommand, too few or too many words.
import type { ByteList } from '../byte-list.js';
import { absenceRemark } from './absent-commands.js';
import type { CommandFinder, KnownCommand } from './command.js';
import {
  tooManyWordsText,
  unknownCommandText,
  unknownSubcommandText,
  wrongArgumentsText,
} from './errors.js';

/** Redis shows no more than this many bytes of the arguments, so no more words than that are looked at. */
const SHOWN_WORDS_MAX = 64;

/** A text is the answer to a command that cannot run. */
export function resolveCommand(lookup: CommandFinder, args: ByteList): KnownCommand | string {
  const command = lookup.find(args, 0);
  if (command === undefined) return unknownCommand(args);
  let known = command;
  if (command.subcommands !== undefined && args.length > 1) {
    const subcommand = command.subcommands.find(args, 1);
    if (subcommand === undefined) return unknownSubcommandText(command.fullName, args.text(1));
    known = subcommand;
  }
  const { arity, wordsMax } = known.command;
  if (!isArity(arity, args.length)) return wrongArgumentsText(known.fullName);
  if (wordsMax !== undefined && args.length > wordsMax)
    return tooManyWordsText(known.fullName, wordsMax);
  return known;
}

/** A negative arity is the least number of words. */
export function isArity(arity: number, words: number): boolean {
  return arity < 0 ? words >= -arity : words === arity;
}

function unknownCommand(args: ByteList): string {
  const words: string[] = [];
  const shown = Math.min(args.length, SHOWN_WORDS_MAX);
  for (let index = 0; index < shown; index += 1) words.push(args.text(index));
  return unknownCommandText(words, absenceRemark(args.text(0)));
}

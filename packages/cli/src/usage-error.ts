// Converts commander's usage errors to our format: one line, with the closest name (or all names) and how to get
// help. Most settings have no flag, so an unknown flag may be the name of a setting.
import { SynclineError, suggestion } from '@syncline/kernel';
import { SETTING_LIST } from '@syncline/server/config';
import type { Command } from 'commander';
import type { WrongUsage } from './wrong-usage.js';

/** The other three kinds of state have a command, so people look for this one. */
const SETS_HINT = ' To use sets, connect a Redis client, for example: redis-cli -p 7402.';

export function usageError({ command, error }: WrongUsage): SynclineError {
  const text =
    error.code === 'commander.excessArguments' ? excessText(command) : plainText(error.message);
  const given = /'([^'\s]+)/.exec(text)?.[1] ?? '';
  const isOption = error.code === 'commander.unknownOption';
  const hint =
    (isOption ? (separatorHint(command) ?? settingHint(given)) : undefined) ??
    suggest(given, command, error.code) +
      (command.parent === null && given === 'sets' ? SETS_HINT : '');
  const message = `${text.replaceAll("'", '"')}.${hint} See "${pathOf(command)} --help".`;
  return new SynclineError('invalid-argument', message, { cause: error });
}

function plainText(message: string): string {
  return message.replace(/^error: /, '').replace(/\.?(\s*\n.*)?$/s, '');
}

/** Commander only counts the arguments. */
function excessText(command: Command): string {
  const { args, registeredArguments: wanted } = command;
  const extra = args.slice(wanted.length).map((arg) => JSON.stringify(arg.slice(0, 100)));
  const names = wanted.map((argument) => argument.name()).join(' and ');
  const more = wanted.length === 0 ? 'no arguments' : `only ${names}`;
  return `"${command.name()}" takes ${more}; unexpected: ${extra.join(', ')}`;
}

/** For a command that runs another one: an unknown option was probably meant for the other command. */
function separatorHint(command: Command): string | undefined {
  const takesCommand = command.registeredArguments.at(-1)?.variadic === true;
  return takesCommand ? ' Put "--" before the command to run.' : undefined;
}

/** `--durability` and `--sets-durability` both mean `sets.durability`. */
function settingHint(flag: string): string | undefined {
  const name = flag.replace(/^--/, '').replace(/=.*/s, '').replaceAll('-', '_');
  const matches = SETTING_LIST.filter(
    (entry) =>
      entry.flag === undefined &&
      (entry.key.replaceAll('.', '_') === name || entry.key.endsWith(`.${name}`)),
  );
  if (matches.length === 0) return undefined;
  const ways = matches.map(({ key, env }) => `${key} in the file, or ${env}`);
  return ` This setting has no flag; use ${ways.join('; or ')}.`;
}

function suggest(given: string, command: Command, code: string): string {
  if (code === 'commander.unknownCommand') {
    const names = command.commands.map((child) => child.name());
    if (names.length === 0) return ` "${command.name()}" has no commands.`;
    return suggestion(given, names) || ` Commands: ${names.join(', ')}.`;
  }
  if (code !== 'commander.unknownOption') return '';
  const own = ['--help', ...longNames(command)]; // as in its help
  const names = [...own, ...parentsOf(command).flatMap(longNames)];
  return suggestion(given, names) || ` Options: ${own.join(', ')}.`;
}

function longNames({ options }: Command): readonly string[] {
  return options.flatMap(({ long }) => long ?? []);
}

function pathOf(command: Command): string {
  return [...parentsOf(command).reverse(), command].map((each) => each.name()).join(' ');
}

function parentsOf(command: Command): Command[] {
  return command.parent === null ? [] : [command.parent, ...parentsOf(command.parent)];
}

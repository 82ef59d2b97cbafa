// Turns what commander says about wrong usage into our kind of error: one line, the nearest name, the
// way to the help.
import { SynclineError } from '@syncline/kernel';
import { closestName, nearestName } from '@syncline/server';
import type { Command, CommanderError } from 'commander';

export function usageError(command: Command, error: CommanderError): SynclineError {
  const text = error.message.replace(/^error: /, '').replace(/\.?(\s*\n.*)?$/s, '');
  const given = /'([^'\s]+)/.exec(text)?.[1] ?? '';
  const hint = suggest(given, knownNames(command, error.code));
  const message = `${text.replaceAll("'", '"')}.${hint} See "${pathOf(command)} --help".`;
  return new SynclineError('invalid-argument', message, { cause: error });
}

/** A far-off name is still named, but as what it is. */
function suggest(given: string, known: readonly string[]): string {
  const near = nearestName(given, known);
  if (near !== undefined) return ` Did you mean "${near}"?`;
  const closest = closestName(given, known);
  return closest === undefined ? '' : ` The closest is "${closest}".`;
}

function knownNames(command: Command, code: string): readonly string[] {
  if (code === 'commander.unknownCommand') return command.commands.map((child) => child.name());
  if (code !== 'commander.unknownOption') return [];
  const options = [command, ...parentsOf(command)].flatMap((each) => each.options);
  return ['--help', ...options.flatMap(({ long }) => long ?? [])];
}

function pathOf(command: Command): string {
  return [...parentsOf(command).reverse(), command].map((each) => each.name()).join(' ');
}

function parentsOf(command: Command): Command[] {
  return command.parent === null ? [] : [command.parent, ...parentsOf(command.parent)];
}

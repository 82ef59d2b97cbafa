// Turns what commander says about wrong usage into our kind of error: one line, the nearest name or
// all there are, the way to the help.
import { SynclineError } from '@syncline/kernel';
import { nearestName } from '@syncline/server';
import type { Command } from 'commander';
import type { WrongUsage } from './wrong-usage.js';

export function usageError({ command, said }: WrongUsage): SynclineError {
  const text = said.message.replace(/^error: /, '').replace(/\.?(\s*\n.*)?$/s, '');
  const given = /'([^'\s]+)/.exec(text)?.[1] ?? '';
  const hint = suggest(given, knownNames(command, said.code));
  const message = `${text.replaceAll("'", '"')}.${hint} See "${pathOf(command)} --help".`;
  return new SynclineError('invalid-argument', message, { cause: said });
}

function suggest(given: string, known: readonly string[]): string {
  if (known.length === 0) return '';
  const near = nearestName(given, known);
  return near === undefined ? ` There are ${known.join(', ')}.` : ` Did you mean "${near}"?`;
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

// A command by the name that COMMAND is asked with: `sadd`, or `config|get`.
import { ByteList } from '../../../byte-list.js';
import type { CommandFinder, KnownCommand } from '../../command.js';

export function namedCommand(lookup: CommandFinder, name: string): KnownCommand | undefined {
  const bar = name.indexOf('|');
  if (bar === -1) return findName(lookup, name);
  const subcommands = findName(lookup, name.slice(0, bar))?.subcommands;
  return subcommands && findName(subcommands, name.slice(bar + 1));
}

function findName(lookup: CommandFinder, name: string): KnownCommand | undefined {
  return lookup.find(ByteList.of(Buffer.from(name, 'latin1')), 0);
}

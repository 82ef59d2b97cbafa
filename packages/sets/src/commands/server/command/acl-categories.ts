// The categories that COMMAND shows for a command, made from its flags and group. There are no access lists
// here; clients use them to tell reads from writes.
import type { Command } from '../../command.js';

const ofGroup: Readonly<Record<Command['group'], string | undefined>> = {
  set: '@set',
  generic: '@keyspace',
  connection: '@connection',
  server: undefined,
  transactions: '@transaction',
  syncline: undefined,
};

export function aclCategories({ flags, group }: Command): readonly string[] {
  const groupCategory = ofGroup[group];
  return [
    ...(flags.includes('write') ? ['@write'] : []),
    ...(flags.includes('readonly') ? ['@read'] : []),
    ...(groupCategory === undefined ? [] : [groupCategory]),
    ...(flags.includes('admin') ? ['@admin', '@dangerous'] : []),
    flags.includes('fast') ? '@fast' : '@slow',
  ];
}

// CLIENT KILL: ends connections, in the old form by address, in the new one by filters that all must fit.

import { formatAddress } from '@syncline/kernel';
import { setsLimits } from '../../../limits.js';
import type { Client } from '../../client.js';
import type { Command, CommandContext } from '../../command.js';
import { errorTexts } from '../../errors.js';
import { type KillFilter, readKillFilter } from './kill-filter.js';

export const clientKill: Command = {
  name: 'kill',
  arity: -3,
  wordsMax: setsLimits.askedWordsMax.value,
  flags: ['admin', 'noscript', 'loading', 'stale'],
  group: 'connection',
  syntax:
    'address | [ID id] [TYPE type] [USER user] [ADDR address] [LADDR address] [SKIPME YES|NO]',
  summary: 'Ends connections.',
  difference: 'LADDR fits no connection.',
  run(context) {
    if (context.args.length === 3) killByAddress(context);
    else killByFilter(context);
  },
};

function killByAddress({ args, client, facts, reply }: CommandContext): void {
  const address = args.text(2);
  for (const other of facts.clients.values()) {
    if (formatAddress(other.address) !== address) continue;
    reply.simple('OK');
    kill(other, client);
    return;
  }
  reply.error(errorTexts.noSuchClient);
}

function killByFilter({ args, client, facts, reply }: CommandContext): void {
  const filter = readKillFilter(args);
  if (typeof filter === 'string') {
    reply.error(filter);
    return;
  }
  const chosen = [...facts.clients.values()].filter((other) => fits(other, filter, client));
  reply.integer(chosen.length);
  for (const other of chosen) kill(other, client);
}

function fits(other: Client, filter: KillFilter, self: Client): boolean {
  if (filter.isSelfSkipped && other === self) return false;
  if (filter.id !== undefined && other.id !== filter.id) return false;
  if (filter.address !== undefined && formatAddress(other.address) !== filter.address) return false;
  return !filter.isNever;
}

/** Who ends itself still gets its answer. */
function kill(other: Client, self: Client): void {
  if (other === self) self.endAfterReply();
  else other.cut();
}

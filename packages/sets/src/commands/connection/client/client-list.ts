// CLIENT LIST: a line for each connection, of a type or with one of the ids.
import { setsLimits } from '../../../limits.js';
import type { Client } from '../../client.js';
import type { Command, CommandContext } from '../../command.js';
import { errorTexts, unknownClientTypeText } from '../../errors.js';
import { integerWord } from '../../integer-word.js';
import { isOption } from '../../option-word.js';
import { clientLine } from './client-line.js';
import { clientType } from './client-type.js';

export const clientList: Command = {
  name: 'list',
  arity: -2,
  wordsMax: setsLimits.askedWordsMax.value,
  flags: ['admin', 'noscript', 'loading', 'stale'],
  group: 'connection',
  syntax: '[TYPE NORMAL|MASTER|REPLICA|PUBSUB] [ID id ...]',
  summary: 'Tells about all connections.',
  difference: 'Without the words about buffers and file descriptors.',
  run(context) {
    const clients = chooseClients(context);
    if (typeof clients === 'string') {
      context.reply.error(clients);
      return;
    }
    const nowMs = context.facts.clock.monotonicMs();
    context.reply.verbatim(clients.map((client) => clientLine(client, nowMs)).join(''));
  },
};

function chooseClients({ args, facts }: CommandContext): readonly Client[] | string {
  if (args.length === 2) return [...facts.clients.values()];
  if (args.length === 4 && isOption(args, 2, 'type')) {
    const type = clientType(args.text(3));
    if (type === undefined) return unknownClientTypeText(args.text(3));
    return type === 'normal' ? [...facts.clients.values()] : [];
  }
  if (args.length < 4 || !isOption(args, 2, 'id')) return errorTexts.syntax;
  const chosen: Client[] = [];
  for (let index = 3; index < args.length; index += 1) {
    const id = integerWord(args, index);
    if (id === undefined) return errorTexts.clientIdInvalid;
    const client = facts.clients.get(id);
    if (client !== undefined) chosen.push(client);
  }
  return chosen;
}

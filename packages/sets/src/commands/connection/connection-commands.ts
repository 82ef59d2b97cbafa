// PING, ECHO, QUIT, RESET, SELECT, and what Redis answers to cluster commands outside a cluster.
import { type Command, commandsIn } from '../command.js';
import { errorFor, errorTexts } from '../errors.js';
import { endTransaction } from '../transactions/transaction-state.js';
import { integerWord } from '../words.js';
import { openFlags } from './authentication.js';

const define = commandsIn('connection');
const INT_MAX = 2 ** 31 - 1;
const INT_MIN = -(2 ** 31);

const ping = define('ping', -1, ['fast'], {
  syntax: '[message]',
  summary: 'Returns PONG, or the message.',
  difference: 'Also answers while the sets are being loaded.',
  run({ args, reply }) {
    if (args.length > 2) reply.error(errorFor.wrongArguments('ping'));
    else if (args.length === 2) reply.bulkOf(args, 1);
    else reply.simple('PONG');
  },
});

const echo = define('echo', 2, ['loading', 'stale', 'fast'], {
  syntax: 'message',
  summary: 'Returns the message.',
  run: ({ args, reply }) => reply.bulkOf(args, 1),
});

const quit = define('quit', -1, openFlags, {
  summary: 'Closes the connection after the reply.',
  run({ client, reply }) {
    reply.simple('OK');
    client.endAfterReply();
  },
});

const reset = define('reset', 1, openFlags, {
  summary:
    'Resets the connection: ends its transaction, forgets its name and watched keys, returns to RESP2 and requires AUTH again.',
  run(context) {
    const { client, facts, reply } = context;
    endTransaction(context);
    client.name = '';
    client.protocol = 2;
    client.replies = 'on';
    client.isAuthenticated = facts.checkPassword === undefined;
    reply.simple('RESET');
  },
});

const select = define('select', 2, ['loading', 'stale', 'fast'], {
  syntax: 'index',
  summary: 'Selects database 0.',
  difference: 'There is only database 0.',
  run({ args, reply }) {
    const index = integerWord(args, 1);
    if (index === undefined) reply.error(errorTexts.notInteger);
    else if (index < INT_MIN || index > INT_MAX) reply.error(errorTexts.outOfIntRange);
    else if (index !== 0) reply.error(errorTexts.databaseOutOfRange);
    else reply.simple('OK');
  },
});

function clusterModeCommand(name: string): Command {
  return define(name, 1, ['loading', 'stale', 'fast'], {
    summary: 'Returns the error that cluster support is disabled, as Redis does outside a cluster.',
    run: ({ reply }) => reply.error(errorTexts.clusterDisabled),
  });
}

export const connectionCommands: readonly Command[] = [
  echo,
  ping,
  quit,
  clusterModeCommand('readonly'),
  clusterModeCommand('readwrite'),
  reset,
  select,
];

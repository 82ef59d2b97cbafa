// CLIENT: what the server knows of connections.
import type { Command } from '../../command.js';
import { wrongArgumentsText } from '../../errors.js';
import { createHelp } from '../../help-command.js';
import { clientId } from './client-id.js';
import { clientInfo } from './client-info.js';
import { clientKill } from './client-kill.js';
import { clientList } from './client-list.js';
import { clientGetname, clientSetname } from './client-names.js';
import { clientReply } from './client-reply.js';
import { clientSetinfo } from './client-setinfo.js';
import { clientNoEvict, clientNoTouch } from './client-switches.js';

const subcommands: readonly Command[] = [
  clientGetname,
  clientId,
  clientInfo,
  clientKill,
  clientList,
  clientNoEvict,
  clientNoTouch,
  clientReply,
  clientSetinfo,
  clientSetname,
];

export const client: Command = {
  name: 'client',
  arity: -2,
  flags: [],
  group: 'connection',
  summary: 'Tells about connections, names and ends them.',
  difference: 'Other subcommands (TRACKING, PAUSE, UNBLOCK, …) are unknown.',
  subcommands: [...subcommands, createHelp({ name: 'client', group: 'connection' }, subcommands)],
  run: ({ reply }) => reply.error(wrongArgumentsText('client')),
};

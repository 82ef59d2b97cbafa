// CONFIG: what may be asked and changed while the server runs. Everything else is a setting of the server's own.
import type { Command } from '../../command.js';
import { wrongArgumentsText } from '../../errors.js';
import { createHelp } from '../../help-command.js';
import { configGet } from './config-get.js';
import { configSet } from './config-set.js';

const subcommands: readonly Command[] = [configGet, configSet];

export const config: Command = {
  name: 'config',
  arity: -2,
  flags: [],
  group: 'server',
  summary: 'Asks for settings and changes some of them.',
  difference: 'REWRITE and RESETSTAT are unknown.',
  subcommands: [...subcommands, createHelp({ name: 'config', group: 'server' }, subcommands)],
  run: ({ reply }) => reply.error(wrongArgumentsText('config')),
};

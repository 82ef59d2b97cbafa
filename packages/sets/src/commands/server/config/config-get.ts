// CONFIG GET: settings whose names fit one of the patterns.
import type { Command, CommandContext } from '../../command.js';
import { Glob } from '../../glob.js';
import { settings } from './settings.js';

export const configGet: Command = {
  name: 'get',
  arity: -3,
  flags: ['admin', 'noscript', 'loading', 'stale'],
  group: 'server',
  syntax: 'pattern [pattern ...]',
  summary: 'Gives the settings that fit one of the patterns.',
  difference:
    'Knows save, appendonly, appendfsync, maxclients, maxmemory, timeout, databases, proto-max-bulk-len and the set-max-* settings.',
  run(context) {
    const { facts, reply } = context;
    const found = [...settings].flatMap(([name, { value }]) =>
      value !== undefined && isAsked(name, context) ? [[name, value(facts)] as const] : [],
    );
    reply.map(found.length);
    for (const [name, value] of found) {
      reply.bulkText(name);
      reply.bulkText(value);
    }
  },
};

function isAsked(name: string, { args }: CommandContext): boolean {
  const bytes = Buffer.from(name);
  for (let index = 2; index < args.length; index += 1) {
    const pattern = Buffer.from(args.text(index).toLowerCase(), 'latin1');
    if (new Glob(pattern).matches(bytes, 0, bytes.length)) return true;
  }
  return false;
}

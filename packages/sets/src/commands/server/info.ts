// INFO: facts about the server, by sections. Clients wait for `loading:0` and look at `redis_version`.
import { setsLimits } from '../../limits.js';
import type { Command, CommandContext } from '../command.js';
import { infoSections } from './info-sections.js';

const everything: ReadonlySet<string> = new Set(['all', 'everything', 'default']);

export const info: Command = {
  name: 'info',
  arity: -1,
  wordsMax: setsLimits.askedWordsMax.value,
  flags: ['loading', 'stale'],
  group: 'server',
  syntax: '[section ...]',
  summary: 'Tells about the server.',
  difference:
    'Sections Server, Clients, Memory, Persistence, Stats, Replication, Keyspace and Syncline, with fewer lines than in Redis.',
  run(context) {
    const titles = Object.keys(infoSections);
    const asked = askedSections(context);
    const chosen = titles.filter((title) => asked === undefined || asked.has(title));
    context.reply.verbatim(chosen.map((title) => renderSection(title, context)).join('\r\n'));
  },
};

/** Undefined: all of them. */
function askedSections({ args }: CommandContext): ReadonlySet<string> | undefined {
  if (args.length === 1) return undefined;
  const asked = new Set<string>();
  for (let index = 1; index < args.length; index += 1) asked.add(args.text(index).toLowerCase());
  for (const word of everything) if (asked.has(word)) return undefined;
  return asked;
}

function renderSection(title: string, context: CommandContext): string {
  const facts = infoSections[title]?.(context) ?? [];
  const lines = facts.map(([name, value]) => `${name}:${value}\r\n`);
  return `# ${title.charAt(0).toUpperCase()}${title.slice(1)}\r\n${lines.join('')}`;
}

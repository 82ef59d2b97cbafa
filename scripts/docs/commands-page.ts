// docs/COMMANDS.md: every command that the sets answer over RESP, and where it differs from Redis.
import { absentCommands, type CommandDescription, describeCommands } from '@syncline/sets';
import { renderTable } from './markdown-table.js';

const sections: Readonly<Record<CommandDescription['group'], string>> = {
  set: 'Redis set commands',
  generic: 'Keys',
  transactions: 'Transactions',
  connection: 'Connections',
  server: 'Server',
  syncline: 'Syncline',
};

export function renderCommandsPage(): string {
  const commands = describeCommands();
  const tables = Object.entries(sections).map(([group, title]) => {
    const rows = commands
      .filter((command) => command.group === group)
      .map(({ name, syntax, summary, difference }) => [
        `\`${`${name} ${syntax}`.trim()}\``,
        summary,
        difference ?? (group === 'syncline' ? 'not in Redis' : 'as in Redis'),
      ]);
    return `## ${title}\n\n${renderTable(['command', 'what it does', 'compared with Redis 7.0'], rows)}\n`;
  });
  const absent = absentCommands.map(({ title, reason, names }) => [
    title,
    reason,
    names.map((name) => `\`${name.toUpperCase()}\``).join(', '),
  ]);
  return `# Commands

The commands that the RESP listener supports. Replies, their types in RESP2 and RESP3, and error messages are
those of Redis 7.0; the last column says where a command differs. For the semantics of replicated sets, such as
that an add wins over a concurrent remove, see [sets.md](sets.md) and [replication.md](replication.md).

${tables.join('\n')}
## Not supported

Syncline stores only sets: there are no other data types, no expiry, no scripts and no channels. A Redis command that
Syncline does not support returns an error that says so.

${renderTable(['feature', 'why it is missing, and what to do instead', 'commands'], absent)}
`;
}

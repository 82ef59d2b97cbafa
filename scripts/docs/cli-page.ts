// docs/CLI.md: every command of the command line, as its own --help has it.
import type { CommandHelp } from '@syncline/cli';
import { EXIT_CODES } from '@syncline/protocol';
import { renderTable } from './markdown-table.js';

export function renderCliPage(commands: readonly CommandHelp[]): string {
  const list = commands
    .slice(1)
    .map(({ command, description }) => [`[\`${command}\`](#${anchorOf(command)})`, description]);
  const sections = commands.map(
    ({ command, help }) => `## ${command}\n\n\`\`\`text\n${help.trimEnd()}\n\`\`\`\n`,
  );
  const exits = Object.entries(EXIT_CODES).map(([code, meaning]) => [code, meaning]);
  return `# Command line

This page shows the output of \`syncline --help\` and the help of every command. Data goes to standard output, messages go
to standard error. With \`--json\`, a command prints the same data as JSON. Colors are used only on a terminal, and not if
\`NO_COLOR\` is set. Settings can also be given in a file or in the environment: see [CONFIG.md](CONFIG.md).

If standard output is not a terminal, \`syncline serve\` prints one line of JSON per listener to it, such as
\`{"listener":"http","host":"127.0.0.1","port":7400}\`, for programs that start a server with port 0 and need to know the
actual port. The log on standard error has the same information for people.

${renderTable(['command', 'what it does'], list)}

## Exit codes

${renderTable(['exit code', 'meaning'], exits)}

${sections.join('\n')}`;
}

/** As GitHub makes it from a heading. */
function anchorOf(heading: string): string {
  return heading.toLowerCase().replaceAll(' ', '-');
}

// docs/LIMITS.md: every bound of every package, in people's units, with its reason.
import type { Limit } from '@syncline/kernel';
import { formatLimit } from './human-units.js';
import { renderTable } from './markdown-table.js';

export type LimitLists = Readonly<Record<string, Readonly<Record<string, Limit>>>>;

export function renderLimitsPage(lists: LimitLists): string {
  const sections = Object.entries(lists).map(([name, limits]) => {
    const rows = Object.entries(limits).map(([limit, { value, unit, why }]) => [
      `\`${limit}\``,
      formatLimit({ value, unit }),
      why,
    ]);
    return `## ${name}\n\n${renderTable(['limit', 'value', 'why this number, and what happens beyond it'], rows)}\n`;
  });
  return `# Limits

Every queue, buffer, frame, retry and list in a request has a limit. A full one refuses, waits or cuts,
as its line says; nothing grows without a bound. \`/metrics\` shows those of a server (all but those of the cli
and of the libraries riblt and streams) as \`syncline_limit{package,limit}\`. What users may change is a setting instead: see
[CONFIG.md](CONFIG.md). Of the settings \`/metrics\` shows those about connections among the limits:
\`http.connections_max\` as \`httpConnectionsMax\`, and so on for each listener.

${sections.join('\n')}`;
}

// docs/LIMITS.md: every limit of every package, in readable units, with its reason.
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
    return `## ${name}\n\n${renderTable(['limit', 'value', 'why this value, and what happens above it'], rows)}\n`;
  });
  return `# Limits

Every queue, buffer, frame, retry and list in a request has a limit; nothing grows without bound. Each row
says what happens at the limit: requests are refused, wait, or are cut off. A server exports its limits (all except
those of cli, riblt and streams) on \`/metrics\` as \`syncline_limit{package,limit}\`. Values that users can change are
settings instead: see [CONFIG.md](CONFIG.md). Settings that limit connections are exported on \`/metrics\`, too:
\`http.connections_max\` as \`httpConnectionsMax\`, and so on for each listener.

${sections.join('\n')}`;
}

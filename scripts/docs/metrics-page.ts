// docs/METRICS.md: every metric that `/metrics` can show, by the package that declares it.
import type { MetricDefinitions } from '@syncline/kernel';
import { renderTable } from './markdown-table.js';

export type MetricLists = Readonly<Record<string, MetricDefinitions>>;

export function renderMetricsPage(lists: MetricLists): string {
  const sections = Object.entries(lists).map(([name, metrics]) => {
    const rows = Object.entries(metrics).map(([metric, { kind, labels = [], help }]) => [
      `\`${metric}\``,
      kind,
      labels.map((label) => `\`${label}\``).join(', '),
      help,
    ]);
    return `## ${name}\n\n${renderTable(['metric', 'kind', 'labels', 'meaning'], rows)}\n`;
  });
  return `# Metrics

\`/metrics\` on the HTTP listener answers in the Prometheus text format. Counters end in \`_total\`, times
are in seconds, sizes in bytes. Values of labels come from closed lists: no key, element or token is
ever one. Beside these stand the usual \`process_\` and \`nodejs_\` metrics.

Of those of fair, \`syncline_fair_decisions_total\`, \`syncline_fair_outcomes_total\` and \`syncline_fair_client_*\` are
counted by a tracker, in your own process, and never by the server: [fair.md](fair.md#metrics-and-alarms) says how to
get them out. \`syncline_fair_redis_*\` are counted by whoever uses Redis, server or tracker.

${sections.join('\n')}`;
}

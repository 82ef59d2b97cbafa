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

The server exports these metrics at \`/metrics\`, in the Prometheus text format. Counters end in \`_total\`, times are in
seconds, sizes in bytes. The number of label values is bounded, and labels never contain a key, an element or a token. The
usual \`process_\` and \`nodejs_\` metrics are exported as well.

Some metrics are recorded in your own process instead of the server: \`syncline_fair_decisions_total\`,
\`syncline_fair_outcomes_total\` and \`syncline_fair_client_*\` by a tracker, and \`syncline_streams_*\` by a pipeline
(\`start(pipeline, options, { metrics })\`). [fair.md](fair.md#metrics-and-alerts) shows how to export them.
\`syncline_fair_redis_*\` are recorded wherever Redis is used, in the server or in a tracker, and \`syncline_jobs_*\` wherever a
job store is open: see [jobs.md](jobs.md#metrics-and-alerts).

${sections.join('\n')}`;
}

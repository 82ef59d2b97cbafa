// What a PromQL expression reads, compared with the metrics that the packages declare: names, the suffixes of
// histograms, and labels in selectors and in `by`, `without` and `on` lists. Not a parser: it finds the words that
// the queries of this repository use.
import type { MetricDefinition } from '@syncline/kernel';

export type KnownMetrics = Readonly<Record<string, MetricDefinition>>;

/** Metrics of Prometheus itself and of prom-client that our rules use. They have no labels of their own. */
const foreignMetrics: KnownMetrics = {
  up: { kind: 'gauge', help: 'Of Prometheus.' },
  process_cpu_seconds_total: { kind: 'counter', help: 'Of prom-client.' },
  process_max_fds: { kind: 'gauge', help: 'Of prom-client.' },
  process_open_fds: { kind: 'gauge', help: 'Of prom-client.' },
  process_resident_memory_bytes: { kind: 'gauge', help: 'Of prom-client.' },
  process_start_time_seconds: { kind: 'gauge', help: 'Of prom-client.' },
  nodejs_eventloop_lag_p99_seconds: { kind: 'gauge', help: 'Of prom-client.' },
};

/** Labels that Prometheus adds to every series. */
const targetLabels = ['instance', 'job'];

/** `shown` is text with labels in it, such as a legend `{{peer}}` or a summary `{{ $labels.peer }}`. */
export function promqlProblems(
  expr: string,
  shown: string,
  declared: KnownMetrics,
): readonly string[] {
  const known = { ...declared, ...foreignMetrics };
  const problems: string[] = [];
  const readable = new Set(targetLabels);
  const selectors = [...expr.matchAll(/\b((?:syncline|process|nodejs)_\w+|up)\b(?:\{([^}]*)\})?/g)];
  if (selectors.length === 0) problems.push('reads no metric');
  for (const [, name = '', matchers = ''] of selectors) {
    const labels = labelsOf(name, known);
    if (labels === undefined) {
      problems.push(`no metric is called ${name}`);
      continue;
    }
    for (const label of labels) readable.add(label);
    for (const [, label = ''] of matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)) {
      if (!labels.includes(label)) problems.push(`${name} has no label ${label}`);
    }
  }
  const groupings = [...expr.matchAll(/\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g)];
  const mentions = [...shown.matchAll(/\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}/g)];
  const used = [...groupings, ...mentions].flatMap(([, list = '']) => list.split(/\s*,\s*/));
  for (const label of used.map((word) => word.trim())) {
    if (!readable.has(label)) problems.push(`no metric here has the label ${label}`);
  }
  return problems;
}

/** The labels of one series name; undefined when no metric has such series. */
function labelsOf(name: string, known: KnownMetrics): readonly string[] | undefined {
  const [, base = name, suffix] = /^(.*)_(bucket|sum|count)$/.exec(name) ?? [];
  const histogram = known[base]?.kind === 'histogram' ? known[base] : undefined;
  if (suffix !== undefined && histogram !== undefined) {
    const ofBuckets = suffix === 'bucket' ? ['le'] : [];
    return [...targetLabels, ...(histogram.labels ?? []), ...ofBuckets];
  }
  const plain = known[name];
  if (plain === undefined || plain.kind === 'histogram') return undefined;
  return [...targetLabels, ...(plain.labels ?? [])];
}

// deploy/grafana/syncline.json: the Grafana dashboard. `npm run docs` writes it, so that a panel is one line
// here instead of sixty in the JSON. monitoring.test.ts compares its queries with the metrics of the packages.

interface Query {
  readonly expr: string;
  readonly legend: string;
}

interface Panel {
  readonly title: string;
  readonly unit: 'short' | 'ops' | 's' | 'bytes' | 'Bps' | 'percentunit';
  readonly queries: readonly Query[];
  readonly description?: string;
}

const selected = 'instance=~"$instance"';

function current(metric: string, ...labels: readonly string[]): Query {
  return { expr: `${metric}{${selected}}`, legend: legendOf(labels) };
}

function perSecond(metric: string, ...labels: readonly string[]): Query {
  const by = ['instance', ...labels].join(', ');
  const expr = `sum by (${by}) (rate(${metric}{${selected}}[$__rate_interval]))`;
  return { expr, legend: legendOf(labels) };
}

function quantile(share: 0.5 | 0.99, histogram: string, ...labels: readonly string[]): Query {
  const by = ['instance', ...labels, 'le'].join(', ');
  const rates = `sum by (${by}) (rate(${histogram}_bucket{${selected}}[$__rate_interval]))`;
  const legend = `${legendOf(labels)} p${share * 100}`;
  return { expr: `histogram_quantile(${share}, ${rates})`, legend };
}

function legendOf(labels: readonly string[]): string {
  return ['instance', ...labels].map((label) => `{{${label}}}`).join(' ');
}

const rows: Readonly<Record<string, readonly Panel[]>> = {
  Nodes: [
    {
      title: 'Ready',
      unit: 'short',
      description: '1 while every check of /readyz passes.',
      queries: [
        {
          expr: `min by (instance) (syncline_server_ready{${selected}})`,
          legend: legendOf([]),
        },
      ],
    },
    { title: 'CPU', unit: 'percentunit', queries: [perSecond('process_cpu_seconds_total')] },
    {
      title: 'Resident memory',
      unit: 'bytes',
      queries: [current('process_resident_memory_bytes')],
    },
    {
      title: 'Event loop lag, p99',
      unit: 's',
      queries: [current('nodejs_eventloop_lag_p99_seconds')],
    },
    {
      title: 'Connections',
      unit: 'short',
      queries: [current('syncline_server_connections', 'listener')],
    },
    {
      title: 'Limits reached',
      unit: 'ops',
      description: 'docs/LIMITS.md says what happens at each limit.',
      queries: [perSecond('syncline_limit_reached_total', 'package', 'limit')],
    },
  ],
  'HTTP and gRPC': [
    {
      title: 'HTTP requests',
      unit: 'ops',
      queries: [perSecond('syncline_server_http_requests_total', 'route', 'status')],
    },
    {
      title: 'HTTP duration, p99',
      unit: 's',
      queries: [quantile(0.99, 'syncline_server_http_request_seconds', 'route')],
    },
    {
      title: 'gRPC calls',
      unit: 'ops',
      queries: [perSecond('syncline_server_grpc_calls_total', 'method', 'status')],
    },
    {
      title: 'gRPC duration, p99',
      unit: 's',
      queries: [quantile(0.99, 'syncline_server_grpc_call_seconds', 'method')],
    },
    {
      title: 'Refused credentials',
      unit: 'ops',
      queries: [perSecond('syncline_server_auth_failures_total', 'listener')],
    },
    {
      title: 'Connections closed by the server',
      unit: 'ops',
      queries: [perSecond('syncline_server_connections_cut_total', 'listener', 'reason')],
    },
  ],
  Mesh: [
    {
      title: 'Peer state',
      unit: 'short',
      description: '0 down, 1 connecting, 2 connected, 3 behind.',
      queries: [current('syncline_mesh_peer_state', 'peer')],
    },
    {
      title: 'Operations a peer has not applied',
      unit: 'short',
      queries: [current('syncline_mesh_lag_operations', 'peer')],
    },
    {
      title: 'Replication lag, p99',
      unit: 's',
      queries: [quantile(0.99, 'syncline_mesh_lag_seconds', 'peer')],
    },
    {
      title: 'Bytes between nodes',
      unit: 'Bps',
      queries: [perSecond('syncline_mesh_bytes_total', 'peer', 'direction')],
    },
  ],
  Sets: [
    {
      title: 'Commands',
      unit: 'ops',
      queries: [perSecond('syncline_sets_commands_total', 'command')],
    },
    {
      title: 'Operations applied',
      unit: 'ops',
      queries: [perSecond('syncline_sets_operations_total', 'origin')],
    },
    {
      title: 'Memory of the sets',
      unit: 'bytes',
      queries: [current('syncline_sets_memory_bytes')],
    },
    { title: 'Elements', unit: 'short', queries: [current('syncline_sets_live_dots')] },
    {
      title: 'Disk sync',
      unit: 's',
      queries: [
        quantile(0.5, 'syncline_sets_log_sync_seconds'),
        quantile(0.99, 'syncline_sets_log_sync_seconds'),
      ],
    },
    { title: 'Log on disk', unit: 'bytes', queries: [current('syncline_sets_log_bytes')] },
    {
      title: 'Pulls',
      unit: 'ops',
      description: 'How nodes catch up on what they missed.',
      queries: [perSecond('syncline_sets_pulls_total', 'trigger', 'outcome')],
    },
    {
      title: 'Age of the last checkpoint',
      unit: 's',
      queries: [current('syncline_sets_checkpoint_age_seconds')],
    },
  ],
  Jobs: [
    { title: 'Jobs', unit: 'short', queries: [current('syncline_jobs_jobs')] },
    { title: 'Subscribers', unit: 'short', queries: [current('syncline_jobs_subscribers')] },
    {
      title: 'Write duration',
      unit: 's',
      queries: [
        quantile(0.5, 'syncline_jobs_write_duration_seconds'),
        quantile(0.99, 'syncline_jobs_write_duration_seconds'),
      ],
    },
    {
      title: 'Failed writes',
      unit: 'ops',
      queries: [perSecond('syncline_jobs_write_errors_total', 'code')],
    },
    {
      title: 'Live delivery, p99',
      unit: 's',
      queries: [quantile(0.99, 'syncline_jobs_live_delivery_seconds')],
    },
    { title: 'Tasks lost', unit: 'ops', queries: [perSecond('syncline_jobs_leases_lost_total')] },
  ],
  Fair: [
    { title: 'Instances', unit: 'short', queries: [current('syncline_fair_instances', 'tracker')] },
    { title: 'Cells', unit: 'short', queries: [current('syncline_fair_cells', 'tracker')] },
    {
      title: 'Deltas received',
      unit: 'ops',
      queries: [perSecond('syncline_fair_deltas_total', 'tracker', 'result')],
    },
    {
      title: 'From a delta to its broadcast, p99',
      unit: 's',
      queries: [quantile(0.99, 'syncline_fair_aggregation_seconds', 'tracker')],
    },
    {
      title: 'Decisions (from your own processes)',
      unit: 'ops',
      description: 'Trackers count these in your services, not in the server: see docs/fair.md.',
      queries: [
        {
          expr: 'sum by (tracker, decision) (rate(syncline_fair_decisions_total[$__rate_interval]))',
          legend: '{{tracker}} {{decision}}',
        },
      ],
    },
    {
      title: 'Store errors',
      unit: 'ops',
      queries: [perSecond('syncline_fair_store_errors_total', 'store')],
    },
  ],
};

/** Every query of the dashboard with the legend that names its series. */
export function dashboardQueries(): readonly (Query & { readonly panel: string })[] {
  return Object.values(rows).flatMap((panels) =>
    panels.flatMap(({ title, queries }) => queries.map((query) => ({ panel: title, ...query }))),
  );
}

const columns = 3;
const height = 8;
const width = 24 / columns;

export function renderDashboard(): string {
  const panels: object[] = [];
  let y = 0;
  for (const [title, content] of Object.entries(rows)) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title,
      collapsed: false,
      panels: [],
      gridPos: { x: 0, y, w: 24, h: 1 },
    });
    y += 1;
    for (const [index, panel] of content.entries()) {
      const place = { x: (index % columns) * width, y: y + Math.floor(index / columns) * height };
      panels.push(renderPanel(panel, panels.length + 1, { ...place, w: width, h: height }));
    }
    y += Math.ceil(content.length / columns) * height;
  }
  return `${JSON.stringify({ ...frame, panels }, undefined, 2)}\n`;
}

const datasource = { type: 'prometheus', uid: '$datasource' };

function renderPanel(panel: Panel, id: number, gridPos: object): object {
  return {
    id,
    type: 'timeseries',
    title: panel.title,
    ...(panel.description === undefined ? {} : { description: panel.description }),
    datasource,
    gridPos,
    fieldConfig: { defaults: { unit: panel.unit, min: 0 }, overrides: [] },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } },
    targets: panel.queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + index),
      datasource,
      expr,
      legendFormat: legend,
    })),
  };
}

const frame = {
  uid: 'syncline',
  title: 'Syncline',
  tags: ['syncline'],
  schemaVersion: 39,
  editable: true,
  timezone: 'browser',
  refresh: '30s',
  time: { from: 'now-1h', to: 'now' },
  templating: {
    list: [
      { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
      {
        name: 'instance',
        label: 'Node',
        type: 'query',
        datasource,
        query: 'label_values(syncline_build_info, instance)',
        refresh: 2,
        multi: true,
        includeAll: true,
        current: { text: 'All', value: '$__all' },
      },
    ],
  },
};

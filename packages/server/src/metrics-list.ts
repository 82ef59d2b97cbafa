// Every metric that the server itself reports. Slices bring their own lists; the `process_` and
// `nodejs_` metrics (processor, memory, event loop lag) are the usual ones of prom-client.
import type { MetricDefinitions } from '@syncline/kernel';

export const serverMetrics = {
  syncline_build_info: {
    kind: 'gauge',
    help: 'Always 1; the labels say what runs.',
    labels: ['version', 'node_version'],
  },
  syncline_limit: {
    kind: 'gauge',
    help: 'The value of each limit, in the unit that docs/LIMITS.md gives.',
    labels: ['package', 'limit'],
  },
  syncline_limit_reached_total: {
    kind: 'counter',
    help: 'How often a limit was met.',
    labels: ['package', 'limit'],
  },
  syncline_server_ready: {
    kind: 'gauge',
    help: '1 while the check holds, else 0. /readyz has the same checks, with reasons.',
    labels: ['check'],
  },
  syncline_server_connections: {
    kind: 'gauge',
    help: 'Connections that stand.',
    labels: ['listener'],
  },
  syncline_server_connections_total: {
    kind: 'counter',
    help: 'Connections by `result`: taken, refused (beyond the limit) or failed (in the TLS handshake; the log says why at level debug).',
    labels: ['listener', 'result'],
  },
  syncline_server_connections_cut_total: {
    kind: 'counter',
    help: 'Connections that the server ended, by `reason`: idle, stalled (too slow), drain (not done when the grace time was over), session (its protocol dropped it) or failed (a bug of ours).',
    labels: ['listener', 'reason'],
  },
  syncline_server_auth_failures_total: {
    kind: 'counter',
    help: 'Requests and calls without the right token.',
    labels: ['listener'],
  },
  syncline_server_http_requests_total: {
    kind: 'counter',
    help: 'Requests, by route pattern. `status` is none when the client left before the answer; `route` is none, and `method` other, for those that we do not have.',
    labels: ['method', 'route', 'status'],
  },
  syncline_server_http_request_seconds: {
    kind: 'histogram',
    help: 'From the headers of a request to the end of its answer; event streams are left out.',
    labels: ['route'],
  },
  syncline_server_live_pages: {
    kind: 'gauge',
    help: 'Open pages of the dashboard. The limit is `livePagesMax`.',
  },
  syncline_server_grpc_calls_total: {
    kind: 'counter',
    help: 'Ended calls, by method and status. CANCELLED includes those past their deadline and those with a message that is too large.',
    labels: ['method', 'status'],
  },
  syncline_server_grpc_call_seconds: {
    kind: 'histogram',
    help: 'From the headers of a call to its status; calls that stream are left out.',
    labels: ['method'],
  },
} as const satisfies MetricDefinitions;

export type ServerMetricName = keyof typeof serverMetrics;

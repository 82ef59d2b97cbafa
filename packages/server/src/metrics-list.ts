// Every metric that the server itself reports. Slices declare their own; the `process_` and `nodejs_`
// metrics (CPU, memory, event loop lag) are prom-client's defaults.
import type { MetricDefinitions } from '@syncline/kernel';

export const serverMetrics = {
  syncline_build_info: {
    kind: 'gauge',
    help: 'Always 1; the labels identify the build.',
    labels: ['version', 'node_version'],
  },
  syncline_limit: {
    kind: 'gauge',
    help: 'The value of each limit; docs/LIMITS.md lists the units.',
    labels: ['package', 'limit'],
  },
  syncline_limit_reached_total: {
    kind: 'counter',
    help: 'Number of times that a limit was reached.',
    labels: ['package', 'limit'],
  },
  syncline_server_ready: {
    kind: 'gauge',
    help: '1 if the check passes, otherwise 0. /readyz shows the same checks, with reasons.',
    labels: ['check'],
  },
  syncline_server_connections: {
    kind: 'gauge',
    help: 'Open connections.',
    labels: ['listener'],
  },
  syncline_server_connections_total: {
    kind: 'counter',
    help: 'Connections by `result`: accepted, refused (above the limit) or failed (in the TLS handshake; logged at level debug).',
    labels: ['listener', 'result'],
  },
  syncline_server_connections_cut_total: {
    kind: 'counter',
    help: 'Connections closed by the server, by `reason`: idle, stalled (too slow), drain (still open at the end of the grace period), session (protocol error) or failed (a bug in the server).',
    labels: ['listener', 'reason'],
  },
  syncline_server_auth_failures_total: {
    kind: 'counter',
    help: 'Requests and calls without valid credentials.',
    labels: ['listener'],
  },
  syncline_server_http_requests_total: {
    kind: 'counter',
    help: 'Requests by method, route pattern and status. `status` is `none` if the client disconnected before the response. `route` is `none` for an unknown path, and `method` is `other` for an unknown method.',
    labels: ['method', 'route', 'status'],
  },
  syncline_server_http_request_seconds: {
    kind: 'histogram',
    help: 'Time from the headers of a request to the end of its response. Event streams are not counted.',
    labels: ['route'],
  },
  syncline_server_live_pages: {
    kind: 'gauge',
    help: 'Open dashboard pages. The limit is `livePagesMax`.',
  },
  syncline_server_grpc_calls_total: {
    kind: 'counter',
    help: 'Completed calls by method and status. CANCELLED includes calls past their deadline and calls with a message that is too large.',
    labels: ['method', 'status'],
  },
  syncline_server_grpc_call_seconds: {
    kind: 'histogram',
    help: 'Time from the headers of a call to its status. Streaming calls are not counted.',
    labels: ['method'],
  },
} as const satisfies MetricDefinitions;

export type ServerMetricName = keyof typeof serverMetrics;

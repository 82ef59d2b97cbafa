// Every metric of the mesh. The label `peer` is a node id, `kind` is a kind of frame.
import type { MetricDefinitions } from '@syncline/kernel';

export const meshMetrics = {
  syncline_mesh_peer_state: {
    kind: 'gauge',
    help: 'State of a peer: 0 down, 1 connecting, 2 connected, 3 behind (it has to pull).',
    labels: ['peer'],
  },
  syncline_mesh_frames_total: {
    kind: 'counter',
    help: 'Frames sent (direction out) and received (in).',
    labels: ['peer', 'direction', 'kind'],
  },
  syncline_mesh_bytes_total: {
    kind: 'counter',
    help: 'Bytes of these frames on the wire, including length prefixes.',
    labels: ['peer', 'direction', 'kind'],
  },
  syncline_mesh_unacked_operations: {
    kind: 'gauge',
    help: 'Operations sent to a peer that it has not confirmed as received.',
    labels: ['peer'],
  },
  syncline_mesh_pending_operations: {
    kind: 'gauge',
    help: 'Received operations waiting for their dependencies.',
  },
  syncline_mesh_pending_bytes: { kind: 'gauge', help: 'Bytes of these operations.' },
  syncline_mesh_ring_bytes: { kind: 'gauge', help: 'Bytes of recent operations kept for peers.' },
  syncline_mesh_overflow_total: {
    kind: 'counter',
    help: 'Received operations dropped because too many were waiting for their dependencies.',
  },
  syncline_mesh_retries_total: {
    kind: 'counter',
    help: 'Frames of operations sent again because they were not acknowledged in time.',
  },
  syncline_mesh_nacks_total: {
    kind: 'counter',
    help: 'Negative acknowledgements received: overflow, gap, evicted.',
    labels: ['reason'],
  },
  syncline_mesh_duplicates_total: {
    kind: 'counter',
    help: 'Received operations that were already known.',
  },
  syncline_mesh_reconnects_total: {
    kind: 'counter',
    help: 'Connections to peers that were re-established.',
  },
  syncline_mesh_auth_failures_total: {
    kind: 'counter',
    help: 'Connections refused because of an unknown peer, a different cluster or a wrong secret.',
  },
  syncline_mesh_lag_seconds: {
    kind: 'histogram',
    help: 'Time from publishing an operation until it is known that a peer has applied it.',
    labels: ['peer'],
  },
  syncline_mesh_lag_operations: {
    kind: 'gauge',
    help: 'Operations of this node that a peer has not applied yet.',
    labels: ['peer'],
  },
} as const satisfies MetricDefinitions;

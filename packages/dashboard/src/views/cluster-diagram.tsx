// The cluster as seen by this node: a link to each peer, with its lag, unacknowledged operations and last repair.
// Links between other nodes are shown on their own pages.

import { useContext } from 'preact/hooks';
import { ServerClock, useNow } from '../clock.js';
import { formatAge, formatBytes, formatDuration, formatLag, formatShort } from '../format.js';
import { Badge, type Tone } from '../marks.js';
import type { PeerData, PullData, SetsData } from '../view-data.js';
import { peerTone } from './overview.js';

const WIDTH = 460;
const ROW_HEIGHT = 112;
const NODE_RADIUS = 34;

export function ClusterDiagram({ data }: { readonly data: SetsData }) {
  const peers = data.replication?.peers ?? [];
  const pulls = new Map(data.replication?.pulls.map(({ peer, last }) => [peer, last]));
  const diverged = new Set(data.replication?.divergedPeers);
  const height = Math.max(1, peers.length) * ROW_HEIGHT + 24;
  const placed = peers.map((peer, at) => ({
    peer,
    x: WIDTH - 70,
    y: 12 + (at + 0.42) * ROW_HEIGHT,
  }));
  const center = { x: peers.length === 0 ? WIDTH / 2 : 70, y: height / 2 - 10 };
  return (
    <div class="cluster">
      <svg viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label={wordsOf(data)}>
        {placed.map(({ peer, x, y }) => (
          <Link key={peer.nodeId} peer={peer} from={center} to={{ x, y }} />
        ))}
        <NodeCircle {...center} nodeId={data.nodeId} tone="good" note="this node" />
        {placed.map(({ peer, x, y }) => (
          <NodeCircle
            key={peer.nodeId}
            x={x}
            y={y}
            nodeId={peer.nodeId}
            tone={diverged.has(peer.nodeId) ? 'bad' : peerTone(peer)}
            note={diverged.has(peer.nodeId) ? 'differs' : peer.state}
          />
        ))}
      </svg>
      {peers.length === 0 ? (
        <p class="muted">This node has no peers: nothing is replicated.</p>
      ) : (
        <LinksTable peers={peers} pulls={pulls} diverged={diverged} />
      )}
    </div>
  );
}

interface Point {
  readonly x: number;
  readonly y: number;
}

function Link({
  peer,
  from,
  to,
}: {
  readonly peer: PeerData;
  readonly from: Point;
  readonly to: Point;
}) {
  const isUp = peer.state === 'connected' || peer.state === 'behind';
  const x = (from.x + to.x) / 2;
  const y = (from.y + to.y) / 2;
  const text = isUp
    ? peer.lagOperations === 0
      ? 'in sync'
      : `${formatShort(peer.lagOperations)} behind`
    : `no link`;
  return (
    <g class={`link link-${peerTone(peer)}`}>
      <line x1={from.x} y1={from.y} x2={to.x} y2={to.y} />
      <rect x={x - 58} y={y - 13} width={116} height={26} rx={13} />
      <text x={x} y={y + 4}>
        {text}
      </text>
    </g>
  );
}

function NodeCircle(
  props: Point & { readonly nodeId: number; readonly tone: Tone; readonly note: string },
) {
  return (
    <g class={`node node-${props.tone}`}>
      <circle cx={props.x} cy={props.y} r={NODE_RADIUS} />
      <text class="node-id" x={props.x} y={props.y + 6}>
        {props.nodeId}
      </text>
      <text class="node-note" x={props.x} y={props.y + NODE_RADIUS + 18}>
        {props.note}
      </text>
    </g>
  );
}

function LinksTable(props: {
  readonly peers: readonly PeerData[];
  readonly pulls: ReadonlyMap<number, PullData | undefined>;
  readonly diverged: ReadonlySet<number>;
}) {
  const now = useNow() + useContext(ServerClock);
  return (
    <div class="scroll-x">
      <table class="stack">
        <thead>
          <tr>
            <th>Link to</th>
            <th>State</th>
            <th class="number">Lag</th>
            <th class="number">Unacked</th>
            <th class="number">Pending</th>
            <th>Last comparison</th>
          </tr>
        </thead>
        <tbody>
          {props.peers.map((peer) => (
            <tr key={peer.nodeId}>
              <td data-label="Link to">
                <span>
                  <b>node {peer.nodeId}</b>
                  <span class="address">{peer.address}</span>
                </span>
              </td>
              <td data-label="State">
                <Badge tone={peerTone(peer)}>{peer.state}</Badge>
              </td>
              <td data-label="Lag" class="number">
                {formatLag(peer.lagOperations, peer.lagMs)}
              </td>
              <td data-label="Unacked" class="number">
                {formatShort(peer.unackedOperations)}
              </td>
              <td data-label="Pending" class="number">
                {formatShort(peer.pendingOperations)}
              </td>
              <td data-label="Last comparison">{pullText(props.pulls.get(peer.nodeId), now)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function pullText(pull: PullData | undefined, nowMs: number): string {
  if (pull === undefined) return 'not yet';
  const age = formatAge(Math.max(0, nowMs - pull.endedAtMs));
  switch (pull.outcome) {
    case 'nothing':
      return pull.isEqual ? `digests equal, ${age}` : `nothing to pull, ${age}`;
    case 'applied':
      return `repaired with ${formatBytes(pull.bytes)} in ${formatDuration(pull.tookMs)}, ${age}`;
    case 'diverged':
      return `digests differ, ${age}`;
    default:
      return `${pull.outcome}, ${age}`;
  }
}

function wordsOf({ nodeId, replication }: SetsData): string {
  const links = (replication?.peers ?? []).map(
    ({ nodeId: peer, state, lagOperations }) =>
      `node ${peer} ${state}, ${lagOperations} operations behind`,
  );
  return `Node ${nodeId}${links.length === 0 ? ' has no peers' : ` and ${links.join('; ')}`}`;
}

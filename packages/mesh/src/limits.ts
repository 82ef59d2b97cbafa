// Every limit of the mesh. docs/LIMITS.md is generated from this list. A limit that names an option is the
// default of that option.
import { defineLimits } from '@syncline/kernel';

export const meshLimits = defineLimits({
  peersMax: {
    value: 16,
    unit: 'entries',
    why: 'Nodes that one node is connected to. Every node pushes to every other, so more would cost each write too much.',
  },
  channelsMax: {
    value: 16,
    unit: 'entries',
    why: 'Channels that a node announces. A peer that names more is disconnected.',
  },
  nameBytesMax: {
    value: 255,
    unit: 'bytes',
    why: 'Cluster id, and name of a channel. A peer that sends a longer one is disconnected.',
  },
  closeTextBytesMax: {
    value: 1_024,
    unit: 'bytes',
    why: 'Explanation sent when a connection is closed. The rest is truncated.',
  },
  frameBytesMax: {
    value: 8 * 1024 * 1024,
    unit: 'bytes',
    why: 'One frame, compressed or not: twice the largest operation. A peer that announces a longer one is disconnected.',
  },
  unauthenticatedFrameBytesMax: {
    value: 4_096,
    unit: 'bytes',
    why: 'One frame of a connection that has not authenticated yet. A longer one ends the connection.',
  },
  handshakesMax: {
    value: 64,
    unit: 'connections',
    why: 'Accepted connections in their handshake. One more closes the oldest of them, so that a flood does not lock out peers.',
  },
  pushFrameBytesMax: {
    value: 64 * 1024,
    unit: 'bytes',
    why: 'Operations sent in one frame, which the peer applies in one turn of its event loop: a thousand short ones take 1 to 2 ms. A larger operation gets its own frame.',
  },
  receiveTurnBytes: {
    value: 64 * 1024,
    unit: 'bytes',
    why: 'Frames received from one peer before other connections get their turn. The rest waits, unread.',
  },
  pushWindowBytes: {
    value: 1024 * 1024,
    unit: 'bytes',
    why: 'Unsent bytes of a connection above which further operations wait in the ring, where they cost no extra memory.',
  },
  pushAheadOperations: {
    value: 16_384,
    unit: 'entries',
    why: 'Operations sent to a peer that the peer has not applied yet. Further ones wait in the ring, so that a slow peer does not have to drop them.',
  },
  pushAheadBytes: {
    value: 16 * 1024 * 1024,
    unit: 'bytes',
    why: 'The same in bytes.',
  },
  messageBytesMax: {
    value: 8 * 1024 * 1024 - 64,
    unit: 'bytes',
    why: 'One message of a channel to one peer, so that it fits into a frame.',
  },
  peerUnsentBytesMax: {
    value: 16 * 1024 * 1024,
    unit: 'bytes',
    why: 'Unsent bytes of a connection above which messages, such as those of a pull, are refused.',
  },
  connectionUnsentBytesMax: {
    value: 32 * 1024 * 1024,
    unit: 'bytes',
    why: 'Unsent bytes of one connection, including acknowledgements and replies. A peer that does not read them is disconnected.',
  },
  ringBatchesMax: {
    value: 262_144,
    unit: 'entries',
    why: 'Batches of recent operations kept for peers, per channel. A batch holds the operations of one turn of the event loop. The oldest are evicted first; a peer that still needs them has to pull.',
  },
  ringBytesMax: {
    value: 64 * 1024 * 1024,
    unit: 'bytes',
    why: 'The same in bytes. Option `ringBytesMax`.',
  },
  pendingOperationsMax: {
    value: 65_536,
    unit: 'entries',
    why: 'Received operations waiting for their dependencies, over all peers of a channel. Further ones are dropped unacknowledged, and pulled. Option `bufferSize`.',
  },
  pendingBytesMax: {
    value: 64 * 1024 * 1024,
    unit: 'bytes',
    why: 'The same in bytes.',
  },
  drainOperationsMax: {
    value: 2_048,
    unit: 'entries',
    why: 'Held operations delivered in one turn of the event loop, a few milliseconds. The rest follows in later turns.',
  },
  retriesMax: {
    value: 5,
    unit: 'attempts',
    why: 'Resends of operations that a peer does not acknowledge, before it is asked to pull. Option `maxRetries`.',
  },
  retryBackoffMs: {
    value: 100,
    unit: 'ms',
    why: 'Wait before the first resend; it doubles each time. Option `retryBackoffMs`.',
  },
  ackTimeoutMs: {
    value: 500,
    unit: 'ms',
    why: 'How long an acknowledgement may take before operations are sent again. Option `ackTimeoutMs`.',
  },
  heartbeatIntervalMs: {
    value: 1_000,
    unit: 'ms',
    why: 'A connection on which nothing was sent for this long sends a heartbeat. Option `heartbeatIntervalMs`.',
  },
  connectionTimeoutMs: {
    value: 5_000,
    unit: 'ms',
    why: 'Silence after which a connection is dead, and the time for a handshake. Option `connectionTimeoutMs`.',
  },
  reconnectBackoffMs: {
    value: 100,
    unit: 'ms',
    why: 'Upper bound of the delay before a lost peer is dialed again; it doubles each time. Also how long the node with the higher id waits at startup before it dials, so that usually only one connection is made.',
  },
  reconnectBackoffMsMax: {
    value: 10_000,
    unit: 'ms',
    why: 'Longest delay before a peer is dialed again. After a connection that lasted this long, the delay starts over.',
  },
  unsettledCheckMs: {
    value: 100,
    unit: 'ms',
    why: 'While received operations are not yet committed, acknowledgements and gaps are checked this often.',
  },
  stuckMs: {
    value: 1_000,
    unit: 'ms',
    why: 'An operation that has waited this long for a dependency from another node makes the channel pull.',
  },
  pullRequestMs: {
    value: 5_000,
    unit: 'ms',
    why: 'A peer that has to pull is reminded this often.',
  },
  closeMs: {
    value: 1_000,
    unit: 'ms',
    why: 'Time to send the last bytes of a connection. Then it is closed.',
  },
  compressAboveBytes: {
    value: 4_096,
    unit: 'bytes',
    why: 'Smaller frames are not compressed.',
  },
  waitersMax: {
    value: 16_384,
    unit: 'entries',
    why: 'Callers waiting for acknowledgements or for the versions of peers, per channel. One more is refused as overloaded.',
  },
  refusalLogIntervalMs: {
    value: 60_000,
    unit: 'ms',
    why: 'Refused connections from one address are logged once per this interval.',
  },
  refusalAddressesMax: {
    value: 1_024,
    unit: 'entries',
    why: 'Addresses whose refusals are remembered. The oldest is forgotten first.',
  },
});

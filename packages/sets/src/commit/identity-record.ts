// The record `n`: whose data this is, and how the last run of the process ended.
//
// One byte of state, u16 node, u16 epoch, then the cluster id. It is always written synced: a dot that
// somebody has seen must never be made again, and the epoch in this record is what keeps that true (S3).
import { SynclineError } from '@syncline/kernel';

export interface IdentityRecord {
  readonly clusterId: string;
  readonly nodeId: number;
  readonly epoch: number;
  /** `open` while a process runs, `loading` while it takes all data from a peer, `clean` after a stop. */
  readonly state: 'open' | 'clean' | 'loading';
}

const STATES = ['open', 'clean', 'loading'] as const;
const FIXED_BYTES = 5;

export function encodeIdentity(record: IdentityRecord): Uint8Array {
  const clusterId = Buffer.from(record.clusterId);
  const bytes = Buffer.alloc(FIXED_BYTES + clusterId.length);
  bytes.writeUInt8(STATES.indexOf(record.state) + 1, 0);
  bytes.writeUInt16BE(record.nodeId, 1);
  bytes.writeUInt16BE(record.epoch, 3);
  clusterId.copy(bytes, FIXED_BYTES);
  return bytes;
}

export function decodeIdentity(stored: Uint8Array): IdentityRecord {
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.length);
  const state = bytes.length > FIXED_BYTES ? STATES[bytes.readUInt8(0) - 1] : undefined;
  if (state === undefined) throw malformed(bytes);
  return {
    state,
    nodeId: bytes.readUInt16BE(1),
    epoch: bytes.readUInt16BE(3),
    clusterId: bytes.toString('utf8', FIXED_BYTES),
  };
}

function malformed(bytes: Buffer): SynclineError {
  return new SynclineError(
    'corrupt',
    `the record of the node's identity (key n, ${bytes.length} bytes) cannot be read. ` +
      'Something else has written to this directory. Move it away and start with an empty one.',
    { details: { key: 'n', bytes: bytes.length } },
  );
}

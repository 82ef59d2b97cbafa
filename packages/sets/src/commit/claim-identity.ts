// Claims this node's actor for one run of the process, so that a dot is never made twice (S3).
//
// A run that did not end cleanly may have lost its newest writes, while peers or clients have seen their
// dots. The next run therefore takes a new epoch, synced, before it makes any dot. The first epoch of a
// store is random: a node that lost its disk must not begin at an epoch that peers know. Epochs of this
// node in the version vector are known to somebody, so they are left out.
import {
  actorId,
  EPOCH_MAX,
  epochOf,
  nodeOf,
  type Random,
  randomBelow,
  type Storage,
  SynclineError,
  type VersionVector,
} from '@syncline/kernel';
import { identityKey } from '../state/storage-keys.js';
import { decodeIdentity, type IdentityRecord } from './identity-record.js';

const CLUSTER_ID_BYTES_MAX = 255;

export interface IdentityOptions {
  readonly nodeId: number;
  readonly clusterId: string;
}

/** The record of the run before, checked against what this run was told; undefined in a new store. */
export function readIdentity(
  storage: Pick<Storage, 'get'>,
  options: IdentityOptions,
): IdentityRecord | undefined {
  checkOptions(options);
  const stored = storage.get(identityKey);
  if (stored === undefined) return undefined;
  const record = decodeIdentity(stored);
  const { nodeId, clusterId } = options;
  if (record.nodeId !== nodeId) {
    throw conflict(
      'node-id',
      `this data belongs to node ${record.nodeId}, not to node ${nodeId}. ` +
        `Give each node its own data directory, or start with node id ${record.nodeId}.`,
    );
  }
  if (record.clusterId !== clusterId) {
    throw conflict(
      'cluster-id',
      `this data belongs to cluster "${record.clusterId}", not to "${clusterId}". The order of members ` +
        `depends on the cluster id, so it cannot change. Set it back, or start with an empty directory.`,
    );
  }
  return record;
}

/** The epoch of this run: the same after a clean stop, else one that nobody knows. */
export function chooseEpoch(
  previous: IdentityRecord | undefined,
  nodeId: number,
  version: VersionVector,
  random: Random,
): number {
  if (previous?.state === 'clean') return previous.epoch;
  const taken = new Set(
    version
      .entries()
      .filter(({ actor }) => nodeOf(actor) === nodeId)
      .map(({ actor }) => epochOf(actor)),
  );
  const first = previous ? previous.epoch + 1 : randomBelow(random, EPOCH_MAX + 1);
  for (let step = 0; step <= EPOCH_MAX; step += 1) {
    const epoch = (first + step) % (EPOCH_MAX + 1);
    if (!taken.has(epoch)) return epoch;
  }
  throw new SynclineError(
    'limit-exceeded',
    `all ${EPOCH_MAX + 1} epochs of node ${nodeId} are taken. Give it a node id that was never used.`,
    { details: { limit: 'epochs' } },
  );
}

function checkOptions({ nodeId, clusterId }: IdentityOptions): void {
  actorId(nodeId, 0);
  const bytes = Buffer.byteLength(clusterId);
  if (bytes >= 1 && bytes <= CLUSTER_ID_BYTES_MAX) return;
  throw new SynclineError(
    'invalid-argument',
    `the cluster id has ${bytes} bytes, it must have 1 to ${CLUSTER_ID_BYTES_MAX}`,
    { details: { field: 'clusterId' } },
  );
}

function conflict(reason: string, message: string): SynclineError {
  return new SynclineError('conflict', message, { details: { reason } });
}

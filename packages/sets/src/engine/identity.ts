// Whose data a directory holds, and the epoch under which this run makes dots.
//
// A run that did not end cleanly may have lost its newest writes although peers or clients have seen their dots. So
// the next run takes a new epoch, synced, before it makes any dot. The first epoch of a store is random: a node that
// lost its disk must not start at an epoch that peers know. The file is replaced by temp file, fsync, rename and
// fsync of the directory; a checksum covers its content.
//
// S3  A dot is never made twice.
import {
  actorId,
  EPOCH_MAX,
  epochOf,
  type Files,
  nodeOf,
  type Random,
  randomBelow,
  SynclineError,
  type VersionVector,
} from '@syncline/kernel';
import { crc32 } from '@syncline/kernel/node';

const PATH = 'identity';
const TEMPORARY = 'identity.tmp';
const FORMAT = 1;
const FILE_BYTES_MAX = 4_096;
const CLUSTER_ID_BYTES_MAX = 255;
/** Left by the first version of the sets: a LevelDB. */
const OLD_STORE = 'db';

export interface IdentityOptions {
  readonly nodeId: number;
  readonly clusterId: string;
}

export interface Identity extends IdentityOptions {
  readonly epoch: number;
  /** `open` while a process runs on it, `clean` after a clean stop. */
  readonly state: 'open' | 'clean';
  /** After a clean stop, the number that the next record of the log gets: a log that ends early is damaged. */
  readonly nextRecord?: number;
}

/** What the previous run left, checked against the configuration; undefined in a new directory. */
export async function readIdentity(
  files: Files,
  options: IdentityOptions,
): Promise<Identity | undefined> {
  checkOptions(options);
  if ((await files.stat(OLD_STORE)) !== undefined) {
    throw conflict(
      'old-format',
      'the sets directory contains data of an earlier version (db/), which this version cannot read. ' +
        'Move it away and start again; the sets then start empty, or load from a peer.',
    );
  }
  if ((await files.stat(PATH)) === undefined) return undefined;
  const found = decode(await files.readAt(PATH, 0, FILE_BYTES_MAX));
  const { nodeId, clusterId } = options;
  if (found.nodeId !== nodeId) {
    throw conflict(
      'node-id',
      `this data directory belongs to node ${found.nodeId}, not to node ${nodeId}. ` +
        `Give each node its own data directory, or start with node id ${found.nodeId}.`,
    );
  }
  if (found.clusterId !== clusterId) {
    throw conflict(
      'cluster-id',
      `this data directory belongs to cluster "${found.clusterId}", not to "${clusterId}". The order of members ` +
        'depends on the cluster id, so it cannot change. Set it back, or start with an empty directory.',
    );
  }
  return found;
}

export async function writeIdentity(files: Files, identity: Identity): Promise<void> {
  const { nodeId: node, clusterId: cluster, epoch, state, nextRecord } = identity;
  const fields = { format: FORMAT, cluster, node, epoch, state, nextRecord };
  const line = `${JSON.stringify(fields)}\n`;
  const text = `${line}${crc32(Buffer.from(line)).toString(16).padStart(8, '0')}\n`;
  if ((await files.stat(TEMPORARY)) !== undefined) await files.remove(TEMPORARY);
  await files.append(TEMPORARY, Buffer.from(text));
  await files.sync(TEMPORARY);
  await files.rename(TEMPORARY, PATH);
  await files.syncDir('.');
}

/** The epoch of this run: the same after a clean stop, otherwise one that no node has seen. */
export function chooseEpoch(
  previous: Identity | undefined,
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
    `all ${EPOCH_MAX + 1} epochs of node ${nodeId} are used. Give it a node id that was never used.`,
    { details: { limit: 'epochs' } },
  );
}

/** Peers have operations of this node that its disk lacks, and it has accepted writes since it started. */
export function restoredCopy(epoch: number): SynclineError {
  return conflict(
    'restored-copy',
    `peers have operations of epoch ${epoch} of this node that its own disk lacks, and the node has accepted writes ` +
      'since it started. Either another node runs with the same id, or the data directory was restored from a copy. ' +
      'Move the directory away and start again; the sets are then loaded from a peer.',
  );
}

function decode(bytes: Uint8Array): Identity {
  const text = Buffer.from(bytes).toString('utf8');
  const end = text.indexOf('\n') + 1;
  const line = text.slice(0, end);
  const crc = crc32(Buffer.from(line)).toString(16).padStart(8, '0');
  if (end === 0 || text.slice(end) !== `${crc}\n`) throw damaged('its checksum is wrong');
  const found = JSON.parse(line) as Record<string, unknown>;
  if (found['format'] !== FORMAT)
    throw damaged(`its format is ${String(found['format'])}, this version reads ${FORMAT}`);
  return {
    nodeId: Number(found['node']),
    clusterId: String(found['cluster']),
    epoch: Number(found['epoch']),
    state: found['state'] === 'clean' ? 'clean' : 'open',
    ...(typeof found['nextRecord'] === 'number' && { nextRecord: found['nextRecord'] }),
  };
}

function damaged(why: string): SynclineError {
  return new SynclineError(
    'corrupt',
    `the file "identity" in the sets directory is damaged: ${why}. Restore the directory from a backup, ` +
      'or move it away and start with an empty one.',
    { details: { path: PATH } },
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

// Claims this node's actor for one run of the process, so that a dot is never used twice.
//
// A start that was not preceded by a clean stop may have lost its newest writes, and peers may hold
// dots that we no longer know. Such a start takes a new epoch, durably, before any dot is made. A new
// store draws its first epoch at random: a node that lost its disk must not begin where peers know it.
//
// K2  Two claims without a release in between never give the same actor.
import { SynclineError } from '../error.js';
import { type Random, randomBelow } from '../random.js';
import type { Storage } from '../storage/storage.js';
import { StorageBatch } from '../storage/storage-batch.js';
import { type ActorId, actorId, EPOCH_MAX } from './actor-id.js';

export interface ActorClaimDeps {
  readonly storage: Storage;
  readonly random: Random;
}

export interface ActorClaimOptions {
  /** Where the record lives in the storage. */
  readonly key: Uint8Array;
  readonly node: number;
  /** True for an epoch of this node that is known from elsewhere, e.g. from a version vector. */
  readonly isTaken?: (epoch: number) => boolean;
}

export interface ActorClaim {
  readonly actor: ActorId;
  /** True when the run before ended with `release`: its counters go on. */
  readonly wasClean: boolean;
  /**
   * Marks a clean stop: the next start goes on with this actor's counters. Call it when nothing will
   * make a dot any more and every dot is synced; a dot that is only buffered may be lost and made again.
   */
  release(): Promise<void>;
}

const OPEN = 1;
const CLEAN = 2;

export async function claimActor(
  deps: ActorClaimDeps,
  options: ActorClaimOptions,
): Promise<ActorClaim> {
  const { storage, random } = deps;
  const { key, node, isTaken = () => false } = options;
  const previous = readRecord(storage.get(key));
  if (previous && previous.node !== node) {
    throw new SynclineError(
      'conflict',
      `this data belongs to node ${previous.node}, not to node ${node}. Give each node its own data directory`,
      { details: { reason: 'node-id', stored: previous.node, given: node } },
    );
  }
  const wasClean = previous?.state === CLEAN;
  const first = previous ? previous.epoch + 1 : randomBelow(random, EPOCH_MAX + 1);
  const actor = actorId(node, wasClean ? previous.epoch : freeEpoch(first, isTaken));
  const store = (state: number) =>
    storage.write(new StorageBatch().put(key, record(actor, state)), { durability: 'synced' });
  await store(OPEN);
  return { actor, wasClean, release: () => store(CLEAN) };
}

function freeEpoch(first: number, isTaken: (epoch: number) => boolean): number {
  for (let step = 0; step <= EPOCH_MAX; step += 1) {
    const epoch = (first + step) % (EPOCH_MAX + 1);
    if (!isTaken(epoch)) return epoch;
  }
  throw new SynclineError(
    'limit-exceeded',
    'all 65536 epochs of this node are taken. Give it a new node id',
    {
      details: { limit: 'epochs' },
    },
  );
}

function record(actor: ActorId, state: number): Uint8Array {
  const bytes = new Uint8Array(5);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, actor);
  view.setUint8(4, state);
  return bytes;
}

function readRecord(
  bytes: Uint8Array | undefined,
): { node: number; epoch: number; state: number } | undefined {
  if (!bytes) return undefined;
  if (bytes.length !== 5) {
    throw new SynclineError(
      'corrupt',
      `the record of the node's identity has ${bytes.length} bytes, not 5`,
    );
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return { node: view.getUint16(0), epoch: view.getUint16(2), state: view.getUint8(4) };
}

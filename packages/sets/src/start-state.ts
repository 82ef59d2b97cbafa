// From what is stored to sets that can be served: the steps of a start, in the only order that is safe.
//
//   1. whose data is it, and in which format     nothing was changed yet: a wrong directory stays as it is
//   2. the fold and its version, then the journal behind it; what lies behind a hole is deleted
//   3. the epoch of this run, synced             before any dot is made (S3)
import { actorId, type Storage, StorageBatch, type StorageEntry } from '@syncline/kernel';
import { chooseEpoch, readIdentity } from './commit/claim-identity.js';
import { encodeIdentity, type IdentityRecord } from './commit/identity-record.js';
import { replayJournal } from './commit/replay-journal.js';
import { createOrderKeys } from './memory/order-hash.js';
import type { SetsDeps, SetsOptions } from './sets.js';
import { encodeFold, readFold } from './state/fold-record.js';
import { foldedVersion } from './state/folded-version.js';
import { SetsState } from './state/sets-state.js';
import { foldKey, identityKey, KeyKind, kindRange } from './state/storage-keys.js';
import type { TurnShare } from './turn-share.js';

export interface StartedState {
  readonly state: SetsState;
  readonly identity: IdentityRecord;
}

export async function startState(
  deps: SetsDeps & { readonly turns: TurnShare },
  options: Pick<SetsOptions, 'nodeId' | 'clusterId'>,
): Promise<StartedState> {
  const { storage, random, logger } = deps;
  const { nodeId, clusterId } = options;
  await storage.whenReadable();
  const previous = readIdentity(storage, options);
  const fold = readFold(storage);
  const keys = createOrderKeys(clusterId);
  const version = foldedVersion(await readVersion(storage));
  const state = new SetsState({ storage }, { keys, fold, version });
  await replayJournal({ ...deps, state });
  const epoch = chooseEpoch(previous, nodeId, state.version(), random);
  const identity: IdentityRecord = { nodeId, clusterId, epoch, state: 'open' };
  // With the fold record the format of the store is known from its first moment on.
  const batch = new StorageBatch()
    .put(identityKey, encodeIdentity(identity))
    .put(foldKey, encodeFold(fold));
  await storage.write(batch, { durability: 'synced' });
  state.useActor(actorId(nodeId, epoch));
  logger.info('sets are read', { epoch, store: storeBefore(previous) });
  return { state, identity };
}

async function readVersion(storage: Storage): Promise<readonly StorageEntry[]> {
  const entries: StorageEntry[] = [];
  for await (const entry of storage.range(kindRange(KeyKind.version))) entries.push(entry);
  return entries;
}

/** An operator must not take the first start for one after a crash. */
function storeBefore(previous: IdentityRecord | undefined): 'new' | 'closed' | 'recovered' {
  if (previous === undefined) return 'new';
  return previous.state === 'clean' ? 'closed' : 'recovered';
}

// Reads what a node of sets has stored, by simple means: a checkpoint and the log after it, into plain sets.
import {
  createSystemClock,
  type Dot,
  type Files,
  formatDot,
  silentLogger,
  type VersionVector,
} from '@syncline/kernel';
import { replayLog } from '@syncline/kernel/testing';
import { CheckpointDecoder } from '../engine/checkpoint-format.js';
import { checkpointPath, listCheckpoints } from '../engine/checkpoints.js';
import { type Identity, readIdentity } from '../engine/identity.js';
import { load } from '../engine/load.js';
import { SetsState } from '../engine/sets-state.js';
import { keyOf, PlainSets } from '../engine/testing/plain-sets.js';
import { engineLimits } from '../limits.js';
import { createOrderKeys } from '../memory/order-hash.js';
import { plainByProtobuf } from './plain-operation.js';

export interface StoredSets {
  readonly identity: Identity;
  /** `node.epoch:counter` to its element, of every dot that the checkpoint or the log names. */
  readonly bindings: ReadonlyMap<string, string>;
  readonly version: VersionVector;
  /** Records of the log after the checkpoint. */
  readonly logRecords: number;
  readonly checkpointNumber: number;
  readonly sets: PlainSets;
  /** What is wrong, in words. */
  readonly flaws: readonly string[];
}

/** Also compares with what the engine loads. That truncates the log after its last good record: pass a copy. */
export async function readStoredSets(
  files: Files,
  owner: { readonly nodeId: number; readonly clusterId: string },
): Promise<StoredSets> {
  const stored = await readStoredPlainly(files, owner);
  if (stored === undefined) throw new Error('no sets are stored here');
  const { identity, sets } = stored;
  const keys = createOrderKeys(identity.clusterId);
  const state = new SetsState(keys);
  const clock = createSystemClock();
  const onProgress = () => undefined;
  const limits = engineLimits;
  const keepsOwnOperations = false;
  const deps = {
    state,
    files,
    clock,
    logger: silentLogger,
    limits,
    keepsOwnOperations,
    onProgress,
  };
  const { log } = await load(deps, identity);
  await log.close();
  const { liveDots, xor } = state.digest;
  const plain = `${String(sets.version)} ${sets.digest(keys)}`;
  const loaded = `${String(state.version.toVector())} ${liveDots}:${xor.join(':')}`;
  const flaws = plain === loaded ? [] : [`the engine loads ${loaded}, but ${plain} is stored`];
  return { ...stored, flaws: [...stored.flaws, ...flaws] };
}

/** Changes nothing on disk. Undefined in a directory that was never used. */
export async function readStoredPlainly(
  files: Files,
  owner: { readonly nodeId: number; readonly clusterId: string },
): Promise<StoredSets | undefined> {
  const identity = await readIdentity(files, owner);
  if (identity === undefined) return undefined;
  const sets = new PlainSets();
  const bindings = new Map<string, string>();
  const flaws: string[] = [];
  const bind = (set: string, member: string, dot: Dot) => {
    const [name, element] = [formatDot(dot), keyOf({ set, member })];
    if ((bindings.get(name) ?? element) !== element) flaws.push(`${name} names two elements`);
    if (!sets.version.covers(dot)) flaws.push(`${name} is not covered`);
    bindings.set(name, element);
  };
  const checkpointNumber = (await listCheckpoints(files)).at(-1) ?? 0;
  if (checkpointNumber > 0) await readCheckpoint(files, checkpointNumber, sets, bind);
  let logRecords = 0;
  await replayLog(files, {
    directory: 'log',
    owner: Buffer.from(`sets/${identity.nodeId}/${identity.clusterId}`),
    replayFrom: checkpointNumber + 1,
    mustBeWhole: identity.state === 'clean',
    onRecord: (_number, _kind, body) => {
      logRecords += 1;
      for (const operation of plainByProtobuf(body)) {
        const { actor, base, added } = operation;
        if (sets.version.counterOf(actor) !== base - 1) flaws.push(`a gap before counter ${base}`);
        sets.apply(operation);
        for (const [set, member, counter] of added) bind(set, member, { actor, counter });
      }
    },
  });
  const { version } = sets;
  return { identity, bindings, version, logRecords, checkpointNumber, sets, flaws };
}

async function readCheckpoint(
  files: Files,
  number: number,
  sets: PlainSets,
  bind: (set: string, member: string, dot: Dot) => void,
): Promise<void> {
  const path = checkpointPath(number);
  let payload: Uint8Array = new Uint8Array(0);
  let set = '';
  const decoder = new CheckpointDecoder(path, {
    header: ({ version }) => {
      sets.version = version.copy();
    },
    set: (buffer, start, end) => {
      payload = buffer;
      set = textOf(buffer.subarray(start, end));
    },
    element: (start, end, dots) => {
      const member = textOf(payload.subarray(start, end));
      for (const dot of dots) bind(set, member, dot);
      sets.write({ set, member }, [...sets.dotsOf({ set, member }), ...dots]);
    },
    end: () => undefined,
  });
  const { bytes = 0 } = (await files.stat(path)) ?? {};
  for (const _ of decoder.push(await files.readAt(path, 0, bytes)));
  decoder.finish();
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

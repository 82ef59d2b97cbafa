// Reads what an earlier run has stored: the newest checkpoint, then the log after it.
//
// Nothing on disk changes before everything has been read, and nothing is guessed: a damaged checkpoint is an error,
// not a reason to fall back to an older one. Only the end of the log may be missing, if a crash truncated it.
import {
  type ActorId,
  actorId,
  type Clock,
  type Dot,
  type Files,
  type Logger,
  SynclineError,
} from '@syncline/kernel';
import { SegmentLog } from '@syncline/kernel/node';
import { ByteList } from '../byte-list.js';
import { type EngineLimits, setsLimits } from '../limits.js';
import type { DotWords } from '../memory/element-row.js';
import { type Operation, OperationReader } from '../operation/decode-operations.js';
import type { OwnOperations } from '../replication/committed-turns.js';
import { RepairReplay } from '../replication/repair.js';
import {
  CheckpointDecoder,
  type CheckpointHeader,
  type CheckpointVisitor,
  damagedCheckpoint,
} from './checkpoint-format.js';
import {
  CHECKPOINT_DIRECTORY,
  checkpointPath,
  type LastCheckpoint,
  listCheckpoints,
  removeTemporary,
} from './checkpoints.js';
import { type Identity, type IdentityOptions, readIdentity } from './identity.js';
import { applyOperation } from './operations.js';
import type { SetEntry } from './set-table.js';
import type { SetsState } from './sets-state.js';
import { RecordKind } from './turns.js';

const LOG_DIRECTORY = 'log';
/** Read at once from a checkpoint. */
const CHUNK_BYTES = 1024 * 1024;
/** How long loading holds the event loop. A step takes up to a millisecond, and a few at the very start. */
const SLICE_MS = 4;

export interface LoadDeps {
  readonly state: SetsState;
  readonly files: Files;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: EngineLimits;
  readonly keepsOwnOperations: boolean;
  onProgress(loadedBytes: number, totalBytes: number): void;
}

export interface Loaded {
  readonly log: SegmentLog;
  readonly checkpoint: LastCheckpoint;
  readonly replayed: number;
  /** Operations that this node made under the epoch it continues with, as far as they are kept for peers. */
  readonly own: readonly OwnOperations[];
}

/** The identity of the previous run; undefined in a new directory, which is then initialized. */
export async function openDirectory(
  files: Files,
  options: IdentityOptions,
): Promise<Identity | undefined> {
  const previous = await readIdentity(files, options);
  await files.makeDir(LOG_DIRECTORY);
  await files.makeDir(CHECKPOINT_DIRECTORY);
  await files.syncDir('.');
  if (previous !== undefined) return previous;
  const logs = await files.list(LOG_DIRECTORY);
  const checkpoints = await listCheckpoints(files);
  if (logs.length === 0 && checkpoints.length === 0) return undefined;
  throw new SynclineError(
    'corrupt',
    'the sets directory contains data, but its file "identity" is missing. Restore it from a backup, or move ' +
      'the directory away and start with an empty one.',
    { details: { path: 'identity' } },
  );
}

export async function load(deps: LoadDeps, identity: Identity): Promise<Loaded> {
  const { state, files, clock, logger, limits } = deps;
  const showDigest = state.holdDigest();
  await removeTemporary(files);
  const numbers = await listCheckpoints(files);
  const number = numbers.at(-1) ?? 0;
  const checkpointBytes =
    number === 0 ? 0 : ((await files.stat(checkpointPath(number)))?.bytes ?? 0);
  const totalBytes = checkpointBytes + (await logBytes(files));
  const slices = new LoadSlices(clock);
  let takenMs = 0;
  if (number > 0) {
    const progress = (bytes: number) => deps.onProgress(bytes, totalBytes);
    const header = await loadCheckpoint({ state, files, slices, progress }, identity, number);
    takenMs = header.takenMs;
  }
  let replayed = 0;
  const repairs = new RepairReplay(state);
  const own = new OwnKeeper(identity, deps.keepsOwnOperations);
  const reader = new OperationReader('corrupt');
  const onOperation = (operation: Operation, body: Uint8Array) => {
    own.see(operation, body);
    replayed += 1;
  };
  const log = await SegmentLog.open(
    { files, logger, clock },
    {
      directory: LOG_DIRECTORY,
      owner: Buffer.from(`sets/${identity.nodeId}/${identity.clusterId}`),
      segmentBytesMax: limits.logSegmentBytesMax,
      reserveBytes: limits.logReserveBytes,
      replayFrom: number + 1,
      mustBeWhole: identity.state === 'clean',
      onRecord: (_number, kind, body) => {
        if (kind === RecordKind.repair) return repairs.part(body);
        if (kind === RecordKind.repairEnd) return repairs.end(body);
        repairs.abandon();
        checkKind(kind);
        reader.open(body);
        return slices.run(replay(state, reader, (operation) => onOperation(operation, body)));
      },
      onProgress: (readBytes) => {
        deps.onProgress(checkpointBytes + readBytes, totalBytes);
      },
    },
  );
  repairs.abandon();
  if (identity.state === 'clean' && log.nextNumber !== identity.nextRecord) {
    const found = log.nextNumber;
    await log.close();
    throw new SynclineError(
      'corrupt',
      `the sets log ends at record ${found - 1}, but the last clean stop was after record ` +
        `${(identity.nextRecord ?? 1) - 1}. Restore the directory from a backup, or move it away and start with an ` +
        'empty one.',
      { details: { path: LOG_DIRECTORY, found, expected: identity.nextRecord } },
    );
  }
  showDigest();
  return {
    log,
    replayed,
    own: own.operations,
    checkpoint: { number, bytes: checkpointBytes, takenMs },
  };
}

function checkKind(kind: number): void {
  if (kind === RecordKind.operations) return;
  throw new SynclineError(
    'corrupt',
    `the log contains a record of unknown kind ${kind}, probably from a newer version`,
  );
}

/** Each step applies a part of the record. Nothing else may change the state before all are done. */
function* replay(
  state: SetsState,
  reader: OperationReader,
  onOperation: (operation: Operation) => void,
): Generator<void, void, undefined> {
  while (reader.next()) {
    yield* applyOperation(state, reader);
    onOperation(reader);
    yield;
  }
  state.settleTurn();
}

/** Lets others run between the steps of loading. */
class LoadSlices {
  readonly #clock: Clock;
  #startMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined: all steps are done. */
  run(steps: Iterator<void>): Promise<void> | undefined {
    return this.#runSlice(steps) ? undefined : this.#runRest(steps);
  }

  async #runRest(steps: Iterator<void>): Promise<void> {
    for (let isOver = false; !isOver; ) {
      await new Promise<void>((resolve) => this.#clock.defer(resolve));
      this.#startMs = this.#clock.monotonicMs();
      isOver = this.#runSlice(steps);
    }
  }

  /** True when all steps are done. */
  #runSlice(steps: Iterator<void>): boolean {
    while (steps.next().done !== true)
      if (this.#clock.monotonicMs() - this.#startMs >= SLICE_MS) return false;
    return true;
  }
}

/** Keeps the newest own operations of the log, for the ring of the mesh. */
class OwnKeeper {
  readonly operations: OwnOperations[] = [];
  readonly #actor: ActorId | undefined;
  #bytes = 0;

  /** After a crash the epoch changes, and with it the actor: then nothing is kept. */
  constructor({ nodeId, epoch, state }: Identity, isWanted: boolean) {
    this.#actor = isWanted && state === 'clean' ? actorId(nodeId, epoch) : undefined;
  }

  see({ actor, base, count, start, end }: Operation, body: Uint8Array): void {
    if (actor !== this.#actor) return;
    const encoded = new Uint8Array(body.subarray(start, end));
    this.operations.push({ encoded, base, last: base + count - 1 });
    this.#bytes += end - start;
    while (this.#bytes > setsLimits.refillBytesMax.value)
      this.#bytes -= this.operations.shift()?.encoded.length ?? 0;
  }
}

async function logBytes(files: Files): Promise<number> {
  let bytes = 0;
  for (const name of await files.list(LOG_DIRECTORY))
    if (name.endsWith('.log')) bytes += (await files.stat(`${LOG_DIRECTORY}/${name}`))?.bytes ?? 0;
  return bytes;
}

interface CheckpointReader extends Pick<LoadDeps, 'state' | 'files'> {
  readonly slices: LoadSlices;
  progress(bytes: number): void;
}

async function loadCheckpoint(
  { state, files, slices, progress }: CheckpointReader,
  identity: Identity,
  number: number,
): Promise<CheckpointHeader> {
  const path = checkpointPath(number);
  const loader = new CheckpointLoader(state, identity, path, number);
  const decoder = new CheckpointDecoder(path, loader);
  const read = (offset: number) => {
    const chunk = files.readAt(path, offset, CHUNK_BYTES);
    chunk.catch(() => {}); // it may be abandoned; the caller gets the error
    return chunk;
  };
  let ahead = read(0);
  for (let offset = 0; ; ) {
    const chunk = await ahead;
    if (chunk.length === 0) break;
    offset += chunk.length;
    ahead = read(offset); // the disk works while elements are added
    await slices.run(decoder.push(chunk));
    progress(offset);
  }
  decoder.finish();
  return loader.found();
}

/** Fills the state from a checkpoint, and compares the result with what the checkpoint says. */
class CheckpointLoader implements CheckpointVisitor {
  readonly #state: SetsState;
  readonly #identity: Identity;
  readonly #path: string;
  readonly #number: number;
  readonly #list = new ByteList(new Uint8Array(0));
  readonly #words: DotWords = { actor: 0, high: 0, low: 0 };
  #set: SetEntry | undefined;
  #header: CheckpointHeader | undefined;
  #elements = 0;

  constructor(state: SetsState, identity: Identity, path: string, number: number) {
    this.#state = state;
    this.#identity = identity;
    this.#path = path;
    this.#number = number;
  }

  found(): CheckpointHeader {
    return this.#header ?? this.#fail('it has no header');
  }

  header(header: CheckpointHeader): void {
    const { nodeId, clusterId } = this.#identity;
    if (header.nodeId !== nodeId || header.clusterId !== clusterId)
      this.#fail(`it belongs to node ${header.nodeId} of cluster "${header.clusterId}"`);
    if (header.logNumber !== this.#number)
      this.#fail(`it belongs to log number ${header.logNumber}`);
    this.#header = header;
    this.#state.version.load(header.version);
  }

  set(buffer: Uint8Array, start: number, end: number): void {
    this.#list.reset(buffer);
    this.#list.push(start, end);
    this.#set = this.#state.sets.findOrCreate(this.#list, 0);
  }

  element(start: number, end: number, dots: readonly Dot[], isNew: boolean): void {
    const list = this.#list;
    list.length = 1;
    list.push(start, end);
    this.#state.several.write(dots, this.#words);
    if (this.#set !== undefined) this.#state.load(this.#set, list, 1, this.#words, isNew);
    if (isNew) this.#elements += 1;
  }

  end(expected: Parameters<CheckpointVisitor['end']>[0]): void {
    const { liveDots, xor } = this.#state.digest;
    if (this.#elements !== expected.elements || liveDots !== expected.liveDots)
      this.#fail(`it contains ${liveDots} dots but declares ${expected.liveDots}`);
    if (xor[0] !== expected.xor[0] || xor[1] !== expected.xor[1])
      this.#fail('its digest does not match its content');
  }

  #fail(why: string): never {
    throw damagedCheckpoint(this.#path, why);
  }
}

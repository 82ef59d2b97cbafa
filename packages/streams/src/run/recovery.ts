// What a start does before it reads records, in a safe order: verify, then fence, then the sinks, then the sources.
//
//   1  open and lock the store          2  read and verify everything; on errors, nothing has been written
//   3  raise the generation, synced     4  sinks: compare marks, deliver owed output, abort the rest
//   5  load the operators               6  sources: check positions, acknowledge again
//
// X36  A store that is damaged, too new, of another pipeline or behind its sinks is rejected, and its contents are not
//      changed.
import {
  type Clock,
  type Logger,
  type Random,
  type Storage,
  StorageBatch,
  SynclineError,
} from '@syncline/kernel';
import type { Fence, Sink, SinkMark } from '../ends/sink.js';
import type { Json } from '../ends/source.js';
import { type AnySink, declareStates, type Graph, invalid } from '../pipeline/graph.js';
import { KEY_HASH } from '../state/key.js';
import { corrupt, incompatible } from '../state/state-error.js';
import { EmbeddedStates } from '../store/embedded-states.js';
import {
  type Generation,
  type Head,
  handlesOf,
  type Meta,
  readFrame,
  removeLeftovers,
  STORE_FORMAT,
  seal,
  storeKeys,
} from '../store/layout.js';
import { MemoryStates } from '../store/memory-states.js';
import { OutboxStore } from '../store/outbox.js';
import {
  type AnyCells,
  type DeclaredState,
  moveState,
  type PipelineStates,
  readTable,
} from '../store/pipeline-states.js';
import { RemoteCells, type SpawnWorkers, WorkersEngine } from '../workers/workers-engine.js';
import type { Engine, EngineStart, PartitionStart } from './engine.js';
import { LocalEngine } from './local-engine.js';
import { type Around, observeSink } from './observed.js';
import { checkPartitions } from './recover-partitions.js';
import type { ReaderDeps } from './source-reader.js';

export interface RecoveryOptions {
  readonly keyGroups: number;
  readonly backend: 'memory' | 'embedded';
  readonly cacheBytesMax: number;
  readonly order: 'strict' | 'ready' | undefined;
  readonly dropState: readonly string[];
  readonly acceptLoss: readonly string[];
  readonly keepDeliveredMs: number;
}

export interface RecoveryDeps {
  readonly graph: Graph;
  readonly storage: Storage;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** For what users must see even without a logger: that a start does not do what it was asked to. */
  readonly notices: Logger;
  readonly options: RecoveryOptions;
  readonly around: Around | undefined;
  /** An epoch that the store has reached before. */
  readonly reportedEpoch: number;
  /** If undefined, everything runs on this thread. */
  readonly workers: { readonly count: number; readonly spawn: SpawnWorkers } | undefined;
}

/** One attempt of a run: everything that is discarded when it is abandoned. */
export interface Session {
  readonly meta: Meta;
  readonly fence: Fence;
  head: Head | undefined;
  readonly states: PipelineStates;
  /** By uid. Used to commit; the engine writes to them. */
  readonly sinks: ReadonlyMap<string, Sink<unknown>>;
  readonly engine: Engine;
  /** Reused by its checkpoints, which are never in flight at the same time: a new one would have to grow each time. */
  readonly batch: StorageBatch;
  /** A codec is newer than the one that wrote the state, so older code could not read the next epoch. */
  readonly isUpgraded: boolean;
}

const TOKEN_BYTES = 16;

/** `held` is the fence of this process if it has already raised it, in which case this is another attempt. */
export async function recover(
  deps: RecoveryDeps,
  held: Fence | undefined,
  reader: ReaderDeps,
  signal: AbortSignal,
): Promise<Session> {
  const { graph, storage, options, clock, logger } = deps;
  await storage.whenReadable();
  const { meta: found, generation, head } = readFrame(storage);
  if ((head?.epoch ?? 0) < deps.reportedEpoch) {
    throw corrupt('the checkpoint store', {
      offset: 0,
      expected: `epoch ${deps.reportedEpoch}, which STATUS.json names`,
      found: head === undefined ? 'no epoch' : `epoch ${head.epoch}`,
    });
  }
  const meta = found ?? newMeta(deps);
  checkMeta(meta, deps);
  const declared = declareStates(graph, meta.keyGroups);
  const moves = claimStates(graph, declared, head, options.dropState);
  if (held === undefined) checkDropState(deps, moves);
  const { workers } = deps;
  const remote =
    workers && new Map(declared.map(({ schema }) => [schema.uid, new RemoteCells(schema)]));
  const states =
    options.backend === 'memory'
      ? new MemoryStates(storage, clock, remote)
      : new EmbeddedStates(storage, clock, options.cacheBytesMax);
  const cells = new Map<string, AnyCells>();
  for (const state of declared) cells.set(state.schema.uid, await states.open(state, head));
  const isUpgraded = declared.some(({ schema, storedAs }) => {
    const stored = head && readTable(storage, storedAs, head)?.codec;
    return stored?.id === schema.codec.id && stored.version < schema.codec.version;
  });
  checkOwed(graph, head);
  // Abandoned workers may still be about to write, so the new ones need a new generation.
  const raised =
    held === undefined || workers !== undefined
      ? await raiseFence(deps, meta, generation, head, moves)
      : { fence: { ...held, attempt: held.attempt + 1 }, head };
  const { fence } = raised;
  const sinks = new Map<string, Sink<unknown>>();
  for (const sink of graph.sinks.values()) {
    const opened = openSink(sink, deps, signal);
    await recoverSink(opened, fence, raised.head);
    sinks.set(sink.uid, opened);
  }
  const partitions = await checkPartitions(deps, raised.head, signal);
  const from = startOf(deps, partitions, raised.head);
  const { keyGroups } = meta;
  const shared = { graph, keyGroups, fence, states, sinks };
  const engine =
    workers === undefined || remote === undefined
      ? await LocalEngine.create({ ...shared, slot: 0, cells, reader }, from)
      : new WorkersEngine({ ...shared, ...workers, cells: remote, reader, signal, logger }, from);
  const batch = new StorageBatch();
  return { meta, fence, head: raised.head, states, sinks, engine, batch, isUpgraded };
}

function startOf(
  { graph, options }: RecoveryDeps,
  partitions: readonly PartitionStart[],
  head: Head | undefined,
): EngineStart {
  const { turn = null, clockMs = 0, recordsIn = 0, operators = {}, watermarks } = head ?? {};
  const isBounded = graph.sources.every(({ source }) => source.isFinite);
  const order = options.order ?? (isBounded ? 'strict' : 'ready');
  return { partitions, order, turn, clockMs, recordsIn, operators, watermarks };
}

function newMeta({ graph, random, clock, options }: RecoveryDeps): Meta {
  return {
    format: STORE_FORMAT,
    name: graph.name,
    pipeline: Buffer.from(random.bytes(TOKEN_BYTES)).toString('hex'),
    keyGroups: options.keyGroups,
    hash: KEY_HASH,
    backend: options.backend,
    createdMs: clock.nowMs(),
  };
}

function checkMeta(meta: Meta, { graph, options }: RecoveryDeps): void {
  const fields = [
    ['pipeline', graph.name, meta.name],
    ['key groups', options.keyGroups, meta.keyGroups],
    ['key hash', KEY_HASH, meta.hash],
    ['state backend', options.backend, meta.backend],
  ] as const;
  for (const [field, expected, found] of fields) {
    if (expected !== found) throw incompatible('the checkpoint directory', field, expected, found);
  }
}

interface Move {
  readonly from: string;
  /** Undefined if the state is dropped. */
  readonly to: string | undefined;
}

/** The renamed and dropped states. Throws `incompatible` for a state that no operator claims. */
function claimStates(
  graph: Graph,
  declared: readonly DeclaredState[],
  head: Head | undefined,
  dropState: readonly string[],
): readonly Move[] {
  const moves: Move[] = [];
  const unclaimed = new Set<string>();
  for (const stored of Object.keys(head?.tables ?? {})) {
    const claim = declared.find(
      ({ storedAs, schema }) => storedAs === stored || schema.uid === stored,
    );
    const [uid = ''] = stored.split('/');
    if (claim?.schema.uid === stored) continue;
    if (claim !== undefined) moves.push({ from: stored, to: claim.schema.uid });
    else if (dropState.includes(uid)) moves.push({ from: stored, to: undefined });
    else unclaimed.add(uid);
  }
  const [first] = unclaimed;
  if (first === undefined) return moves;
  const known = new Set(Object.keys(head?.tables ?? {}).map((table) => table.split('/')[0]));
  const added = graph.nodes.flatMap(({ uid }) =>
    uid === undefined || known.has(uid) ? [] : [uid],
  );
  const nearest = nearestTo(first, added);
  const hint =
    nearest === undefined
      ? ''
      : ` Was it renamed to "${nearest}"? Then set \`was: '${first}'\` there.`;
  throw new SynclineError(
    'incompatible',
    `the checkpoint has state of operator "${first}", which the pipeline does not have.${hint} ` +
      `To discard its state, start with dropState: ['${first}'].`,
    { details: { unclaimed: [...unclaimed], nearest } },
  );
}

/** A name without state may be mistyped, or was dropped by an earlier start: that cannot be told apart. */
function checkDropState({ graph, options, notices }: RecoveryDeps, moves: readonly Move[]): void {
  const dropped = moves.flatMap(({ from, to }) => (to === undefined ? [from.split('/')[0]] : []));
  for (const uid of options.dropState) {
    if (graph.nodes.some((node) => node.uid === uid))
      throw invalid('dropState', `dropState names "${uid}", which the pipeline still has`);
    if (dropped.includes(uid)) continue;
    notices.warn('dropState names an operator that has no state in this directory', {
      uid,
    });
  }
}

function nearestTo(uid: string, candidates: readonly string[]): string | undefined {
  const common = (other: string) => {
    let length = 0;
    while (length < uid.length && uid[length] === other[length]) length += 1;
    return length;
  };
  return [...candidates].sort((left, right) => common(right) - common(left))[0];
}

/** Throws `incompatible` if there is owed output for a sink that no longer exists. */
function checkOwed(graph: Graph, head: Head | undefined): void {
  for (const [uid, mark] of Object.entries(head?.sinks ?? {})) {
    if (handlesOf(mark).length === 0 || graph.sinks.has(uid)) continue;
    throw new SynclineError(
      'incompatible',
      `epoch ${head?.epoch} has output for sink "${uid}", which the pipeline no longer has. ` +
        'Start once with the sink, so that it is delivered, then remove it.',
      { details: { unclaimed: [uid] } },
    );
  }
}

/** Writes one synced batch: the new generation, and the renamed and dropped states. */
async function raiseFence(
  { storage, random }: RecoveryDeps,
  meta: Meta,
  before: Generation | undefined,
  head: Head | undefined,
  moves: readonly Move[],
): Promise<{ readonly fence: Fence; readonly head: Head | undefined }> {
  const generation = (before?.generation ?? 0) + 1;
  const token = Buffer.from(random.bytes(TOKEN_BYTES)).toString('hex');
  const batch = new StorageBatch();
  if (before === undefined) {
    await removeLeftovers(storage, batch);
    batch.put(storeKeys.meta, seal(meta));
  }
  batch.put(storeKeys.generation, seal({ generation, token } satisfies Generation));
  let moved = head;
  if (head !== undefined && moves.length > 0) {
    const tables = { ...head.tables };
    for (const { from, to } of moves) {
      await moveState(storage, batch, from, to);
      if (to !== undefined) tables[to] = tables[from] as number;
      delete tables[from];
    }
    moved = { ...head, tables };
    batch.put(storeKeys.head, seal(moved));
  }
  await storage.write(batch, { durability: 'synced' });
  return { fence: { pipeline: meta.pipeline, generation, token, attempt: 0 }, head: moved };
}

function openSink(
  sink: AnySink,
  { storage, clock, options, around }: RecoveryDeps,
  signal: AbortSignal,
): Sink<unknown> {
  const observed = around === undefined ? sink : observeSink(sink, around);
  if (!('kind' in observed)) return observed;
  const { keepDeliveredMs: keepMs } = options;
  return new OutboxStore(observed, { storage, clock, keepMs, signal });
}

async function recoverSink(
  sink: Sink<unknown>,
  fence: Fence,
  head: Head | undefined,
): Promise<void> {
  const noted = head?.sinks[sink.uid];
  const storeEpoch = head?.epoch ?? 0;
  const isOutbox = sink instanceof OutboxStore;
  if (isOutbox) await sink.sweep(storeEpoch);
  const checkAge = (mark: SinkMark | null) => {
    if (mark === null || mark.pipeline !== fence.pipeline) return;
    const sinkEpoch = Math.max(mark.epoch, mark.partial ?? 0);
    if (sinkEpoch <= storeEpoch && mark.generation <= fence.generation) return;
    const why = 'The store is older than its output: an old copy?';
    throw outOfStep(sink.uid, storeEpoch, sinkEpoch, why);
  };
  const mark = await sink.mark();
  checkAge(mark);
  const held = isOutbox ? await sink.claim(fence) : mark;
  checkAge(held); // an older writer may have added to it before the claim
  const owed: Json[] = [];
  if (isOutbox && noted !== undefined && held !== null && held.epoch < noted.committedEpoch) {
    const retained = await sink.retained(held.epoch, noted.committedEpoch);
    const last = retained.at(-1) as { readonly epoch: number } | undefined;
    const isGone = held.epoch < (noted.droppedEpoch ?? 0);
    if (isGone || last?.epoch !== noted.committedEpoch) {
      throw outOfStep(
        sink.uid,
        storeEpoch,
        held.epoch,
        'The target lost output that is no longer retained.',
      );
    }
    owed.push(...retained);
  }
  if (noted !== undefined) owed.push(...handlesOf(noted));
  await sink.recover(owed, fence);
}

function outOfStep(uid: string, storeEpoch: number, sinkEpoch: number, why: string): SynclineError {
  return new SynclineError(
    'out-of-step',
    `sink "${uid}" is at epoch ${sinkEpoch}, and the checkpoint store at ${storeEpoch}. ${why} ` +
      'Restore the newest copy of the directory, or start over from a savepoint with `repeats: "accept"`.',
    { details: { uid, storeEpoch, sinkEpoch } },
  );
}

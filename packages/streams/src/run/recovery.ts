// What a start does before it reads a record, in an order that never does harm: verify, then fence, then
// the sinks, then the sources.
//
//   1  open and lock the store          2  read and verify everything; refuse here with nothing written
//   3  raise the generation, synced     4  sinks: compare marks, deliver what is owed, abort the rest
//   5  load the operators               6  sources: check positions, acknowledge again
//
// X36  A store that is damaged, newer, of another pipeline or behind its sinks is refused, and what it
//      holds is not changed.
import {
  type Clock,
  type Logger,
  type Random,
  type Storage,
  StorageBatch,
  SynclineError,
} from '@syncline/kernel';
import type { Fence, Sink, SinkMark } from '../ends/sink.js';
import type { Json, Source } from '../ends/source.js';
import type { AnySink, Graph } from '../pipeline/graph.js';
import { KEY_HASH } from '../state/key.js';
import { corrupt, incompatible } from '../state/state-error.js';
import { createStateSchema } from '../state/state-schema.js';
import { EmbeddedStates } from '../store/embedded-states.js';
import {
  type Generation,
  type Head,
  type Meta,
  type PartitionMark,
  readFrame,
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
import { type Around, observe } from './observed.js';
import { SinkWriter } from './sink-writer.js';
import { PartitionReader, type ReaderDeps, SourceReaders } from './source-reader.js';
import { Topology } from './topology.js';

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
  readonly options: RecoveryOptions;
  readonly around: Around | undefined;
  /** The store has been at this epoch. */
  readonly reportedEpoch: number;
}

/** One attempt of a run: everything that is thrown away when it is abandoned. */
export interface Session {
  readonly meta: Meta;
  readonly fence: Fence;
  head: Head | undefined;
  readonly states: PipelineStates;
  readonly topology: Topology;
  readonly readers: SourceReaders;
  readonly writers: ReadonlyMap<string, SinkWriter>;
  /** A codec is newer than the one that wrote the state: older code could not read the next epoch. */
  readonly isUpgraded: boolean;
}

const TOKEN_BYTES = 16;

/** `held` is the fence of this process, if it has raised it already; then this is another attempt. */
export async function recover(
  deps: RecoveryDeps,
  held: Fence | undefined,
  readerDeps: ReaderDeps,
  signal: AbortSignal,
): Promise<Session> {
  const { graph, storage, options, clock } = deps;
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
  const states =
    options.backend === 'memory'
      ? new MemoryStates(storage, clock)
      : new EmbeddedStates(storage, clock, options.cacheBytesMax);
  const cells = new Map<string, AnyCells>();
  for (const state of declared) cells.set(state.schema.uid, await states.open(state, head));
  const isUpgraded = declared.some(({ schema, storedAs }) => {
    const stored = head && readTable(storage, storedAs, head)?.codec;
    return stored?.id === schema.codec.id && stored.version < schema.codec.version;
  });
  checkOwed(graph, head);
  const raised =
    held === undefined
      ? await raiseFence(deps, meta, generation, head, moves)
      : { fence: { ...held, attempt: held.attempt + 1 }, head };
  const writers = new Map<string, SinkWriter>();
  for (const sink of graph.sinks.values()) {
    const opened = openSink(sink, deps);
    await recoverSink(opened, raised.fence, raised.head);
    writers.set(sink.uid, new SinkWriter(opened, meta.pipeline));
  }
  const isBounded = graph.sources.every(({ source }) => source.isFinite);
  const order = options.order ?? (isBounded ? 'strict' : 'ready');
  const readers = new SourceReaders(order, raised.head?.turn ?? null);
  await openReaders(deps, readers, raised.head, readerDeps, signal);
  const topology = await Topology.create({
    graph,
    keyGroups: meta.keyGroups,
    head: raised.head,
    states,
    cells,
    readers,
    writers,
  });
  const { fence } = raised;
  return { meta, fence, head: raised.head, states, topology, readers, writers, isUpgraded };
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

function declareStates(graph: Graph, keyGroups: number): readonly DeclaredState[] {
  return graph.nodes.flatMap(({ uid, was, states }) =>
    Object.entries(states).map(([name, description]) => {
      const schema = createStateSchema(`${uid}/${name}`, description, keyGroups);
      const migrateFrom = (description.migrateFrom ?? []).map((codec) => ({ ...schema, codec }));
      return { schema, storedAs: was === undefined ? schema.uid : `${was}/${name}`, migrateFrom };
    }),
  );
}

interface Move {
  readonly from: string;
  /** Undefined: the state is dropped. */
  readonly to: string | undefined;
}

/** What was renamed or dropped. Throws `incompatible` for state that no operator claims. */
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
      `To give its state up, start with dropState: ['${first}'].`,
    { details: { unclaimed: [...unclaimed], nearest } },
  );
}

function nearestTo(uid: string, candidates: readonly string[]): string | undefined {
  const common = (other: string) => {
    let length = 0;
    while (length < uid.length && uid[length] === other[length]) length += 1;
    return length;
  };
  return [...candidates].sort((left, right) => common(right) - common(left))[0];
}

/** Output that is owed must have a sink to go to. */
function checkOwed(graph: Graph, head: Head | undefined): void {
  for (const [uid, { handle }] of Object.entries(head?.sinks ?? {})) {
    if (handle === null || graph.sinks.has(uid)) continue;
    throw new SynclineError(
      'incompatible',
      `epoch ${head?.epoch} has output for sink "${uid}", which the pipeline does not have any more. ` +
        'Start once with the sink, so that it is delivered, then remove it.',
      { details: { unclaimed: [uid] } },
    );
  }
}

/** One synced batch: the new generation, and what was renamed or dropped. */
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
  if (before === undefined) batch.put(storeKeys.meta, seal(meta));
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

function openSink(sink: AnySink, { storage, clock, options, around }: RecoveryDeps): Sink<unknown> {
  const observed = around === undefined ? sink : observe(sink, around);
  if (!('kind' in observed)) return observed;
  return new OutboxStore(observed, storage, clock, options.keepDeliveredMs) as Sink<unknown>;
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
    if (last?.epoch !== noted.committedEpoch) {
      throw outOfStep(
        sink.uid,
        storeEpoch,
        held.epoch,
        'The target lost output that is no longer retained.',
      );
    }
    owed.push(...retained);
  }
  if (noted !== undefined && noted.handle !== null) owed.push(noted.handle);
  await sink.recover(owed, fence);
}

function outOfStep(uid: string, storeEpoch: number, sinkEpoch: number, why: string): SynclineError {
  return new SynclineError(
    'out-of-step',
    `sink "${uid}" is at epoch ${sinkEpoch}, and the checkpoint store at ${storeEpoch}. ${why} ` +
      'Restore the newest copy of the directory, or begin again from a savepoint with `repeats: "accept"`.',
    { details: { uid, storeEpoch, sinkEpoch } },
  );
}

async function openReaders(
  deps: RecoveryDeps,
  readers: SourceReaders,
  head: Head | undefined,
  readerDeps: ReaderDeps,
  signal: AbortSignal,
): Promise<void> {
  for (const { source } of deps.graph.sources) {
    const marks = { ...head?.partitions[source.uid] };
    const found = await source.partitions(signal);
    const positions = new Map<string, Json>();
    for (const partition of new Set([...found, ...Object.keys(marks)])) {
      const mark = await checkedMark(deps, source, partition, marks[partition], signal);
      const isOpen = mark !== undefined && mark.position !== null && !mark.isEnded;
      if (isOpen) positions.set(partition, mark.position);
      readers.add(new PartitionReader(source, partition, mark, readerDeps));
    }
    if (positions.size > 0) await source.ack?.(positions);
  }
}

/** Where to go on. A position that is lost, and accepted as such, becomes a new incarnation. */
async function checkedMark(
  { options, logger }: RecoveryDeps,
  source: Source<unknown>,
  partition: string,
  mark: PartitionMark | undefined,
  signal: AbortSignal,
): Promise<PartitionMark | undefined> {
  if (mark === undefined || mark.position === null || mark.isEnded) return mark;
  try {
    await source.check(partition, mark.position, signal);
    return mark;
  } catch (thrown) {
    const isLost = thrown instanceof SynclineError && thrown.code === 'position-lost';
    if (!isLost || !options.acceptLoss.includes(partition)) throw thrown;
    logger.warn('position lost and accepted', { source: source.uid, partition });
    return { ...mark, position: null, count: 0, incarnation: mark.incarnation + 1 };
  }
}

/** For the commit point: this process still owns the store, and nothing was committed in between. */
export function checkFenceOf(storage: Storage, { fence, head }: Session): void {
  const found = readFrame(storage);
  const { generation } = found;
  if (generation?.generation !== fence.generation || generation.token !== fence.token) {
    throw new SynclineError(
      'fenced',
      `generation ${generation?.generation} has taken over the checkpoint store of generation ${fence.generation}`,
      { details: { generation: fence.generation, found: generation?.generation } },
    );
  }
  if ((found.head?.epoch ?? 0) !== (head?.epoch ?? 0)) {
    throw new SynclineError(
      'corrupt',
      `the checkpoint store is at epoch ${found.head?.epoch ?? 0}, but this run committed ${head?.epoch ?? 0} last`,
      { details: { found: found.head?.epoch ?? 0, expected: head?.epoch ?? 0 } },
    );
  }
}

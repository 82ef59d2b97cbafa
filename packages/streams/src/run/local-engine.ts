// Reads, processes and writes on one thread: a whole pipeline, or the share of a worker in it.
//
// A single loop passes batches through all operators, one after the other. Between two batches nothing is in flight, so
// a cut there needs no further coordination.
import { assert, type StorageBatch } from '@syncline/kernel';
import type { Fence, Sink } from '../ends/sink.js';
import type { Json, Source } from '../ends/source.js';
import { streamsLimits } from '../limits.js';
import type { Graph } from '../pipeline/graph.js';
import { nextTurn } from '../state/cells.js';
import type { PartitionMark } from '../store/layout.js';
import { OutboxStore } from '../store/outbox.js';
import type { AnyCells, PipelineStates } from '../store/pipeline-states.js';
import {
  allOrThrow,
  type Cut,
  type Engine,
  type EngineStart,
  type EngineStatus,
  newPartitions,
  type PartitionStart,
  type Peers,
} from './engine.js';
import { type CutTransaction, prepareCut, SinkWriter } from './sink-writer.js';
import { PartitionReader, type ReaderDeps, SourceReaders } from './source-reader.js';
import { Topology } from './topology.js';

export interface LocalEngineDeps {
  readonly graph: Graph;
  readonly keyGroups: number;
  readonly fence: Fence;
  /** Number of the worker; 0 without workers. */
  readonly slot: number;
  readonly states: Pick<PipelineStates, 'capture' | 'forEach'>;
  /** By operator and state. */
  readonly cells: ReadonlyMap<string, AnyCells>;
  readonly sinks: ReadonlyMap<string, Sink<unknown>>;
  readonly reader: ReaderDeps;
  readonly peers?: Peers | undefined;
}

/** Batches after which other tasks get a turn, however fast they were. */
const BATCHES_PER_TURN = 32;
/** Short, because a checkpoint does a slice of its work between two turns and should be durable soon. */
const TURN_MS = 2;

export class LocalEngine implements Engine {
  readonly #deps: LocalEngineDeps;
  readonly #readers: SourceReaders;
  readonly #writers: readonly SinkWriter[];
  readonly #topology: Topology;
  /** The requested cut, while it waits for other workers. */
  #asked: { readonly epoch: number; readonly isFinal: boolean; take(cut: Cut): void } | undefined;
  #askedMs = 0;
  #yieldedMs = 0;
  #batchesSinceYield = 0;

  private constructor(deps: LocalEngineDeps, readers: SourceReaders, topology: Topology) {
    this.#deps = deps;
    this.#readers = readers;
    this.#writers = [...topology.writers.values()];
    this.#topology = topology;
  }

  static async create(deps: LocalEngineDeps, from: EngineStart): Promise<LocalEngine> {
    const { graph, sinks, fence, slot } = deps;
    const writers = new Map<string, SinkWriter>();
    for (const sink of sinks.values()) writers.set(sink.uid, new SinkWriter(sink, slot, fence));
    const readers = new SourceReaders(from.order, from.turn);
    for (const { source: uid, partition, mark } of from.partitions) {
      readers.add(new PartitionReader(sourceOf(graph, uid), partition, mark, deps.reader));
    }
    const topology = await Topology.create({ ...deps, ...from, readers, writers });
    return new LocalEngine(deps, readers, topology);
  }

  get recordsIn(): number {
    return this.#topology.recordsIn;
  }

  get hasOutput(): boolean {
    return this.#writers.some((writer) => writer.hasOutput);
  }

  get isUpToDate(): boolean {
    return true;
  }

  get isFull(): boolean {
    return false;
  }

  get isEnded(): boolean {
    return this.#readers.isEnded;
  }

  get nextTickMs(): number {
    return this.#topology.nextTickMs;
  }

  status(nowMs: number): EngineStatus {
    const { watermarkMs, counters, recordsIn } = this.#topology;
    const readers = this.#readers.all;
    const holding = readers.filter((reader) => !reader.isIdle && !reader.isEnded);
    const lowestMs = Math.min(...holding.map((reader) => reader.watermarkMs));
    const { value: warnMs } = streamsLimits.stallWarnMs;
    const stale = holding.find(
      (reader) => reader.watermarkMs === lowestMs && nowMs - reader.lastMs > warnMs,
    );
    return {
      recordsIn,
      hasOutput: this.hasOutput,
      isEnded: this.isEnded,
      watermarkMs,
      lagRecords: readers.reduce((sum, reader) => sum + reader.lagRecords, 0),
      idlePartitions: readers.filter(({ isIdle }) => isIdle).length,
      heldBackBy: stale?.origin ?? null,
      counters,
    };
  }

  async start(epoch: number): Promise<void> {
    for (const writer of this.#writers) await writer.begin(epoch);
    for (const reader of this.#readers.all) reader.start();
  }

  async work(isInterrupted: () => boolean): Promise<void> {
    const { clock } = this.#deps.reader;
    await this.#yieldIfDue();
    let turnStartMs = clock.monotonicMs();
    for (let batches = 0; ; batches += 1) {
      if (isInterrupted()) return;
      this.#cutIfAligned();
      if (!this.#step()) return;
      for (const writer of this.#writers) if (writer.isFull) await writer.write();
      if (this.#writers.some((writer) => writer.isFull)) return; // its transaction has not begun yet
      this.#batchesSinceYield += 1;
      const nowMs = clock.monotonicMs();
      if (batches >= BATCHES_PER_TURN || nowMs - turnStartMs > TURN_MS) {
        await nextTurn(clock);
        turnStartMs = clock.monotonicMs();
        batches = 0;
      }
    }
  }

  /**
   * A source that never waits, such as one in memory, has more batches ready as soon as `work` returns because it ran
   * out of them. Each call then ends before its turn is over, so turns are also counted over all calls.
   */
  async #yieldIfDue(): Promise<void> {
    const { clock } = this.#deps.reader;
    const isLong = clock.monotonicMs() - this.#yieldedMs > TURN_MS;
    if (!isLong && this.#batchesSinceYield < BATCHES_PER_TURN) return;
    await nextTurn(clock);
    this.#yieldedMs = clock.monotonicMs();
    this.#batchesSinceYield = 0;
  }

  /** Passes one batch through all operators. Returns false if there is none. */
  #step(): boolean {
    const { peers, graph, reader: deps } = this.#deps;
    const topology = this.#topology;
    const { clock } = deps;
    if (peers?.step() === true) {
      topology.settle();
      peers.flush();
      return true;
    }
    if (peers?.isHeld === true) return false;
    if (this.#readers.declareIdle(graph.sources, clock.monotonicMs())) topology.settle();
    topology.tick(clock.nowMs());
    const reader = this.#readers.next(topology.wanted());
    const batch = reader?.take();
    if (reader !== undefined && batch !== undefined) {
      topology.take(reader, batch, clock.monotonicMs());
    }
    peers?.flush();
    return batch !== undefined;
  }

  async flush(): Promise<void> {
    for (const writer of this.#writers) await writer.write();
  }

  async cut(epoch: number, isFinal: boolean): Promise<Cut> {
    const { peers, reader } = this.#deps;
    this.#askedMs = reader.clock.monotonicMs();
    if (peers === undefined) return this.#cut(epoch, isFinal);
    return await new Promise((take) => {
      this.#asked = { epoch, isFinal, take };
      peers.hold(epoch);
      reader.wake();
    });
  }

  /** Called while no batch is in flight and no output is being written. */
  #cutIfAligned(): void {
    const asked = this.#asked;
    const { peers } = this.#deps;
    if (asked === undefined || peers?.isAligned !== true) return;
    this.#asked = undefined;
    asked.take(this.#cut(asked.epoch, asked.isFinal));
    peers.release();
  }

  #cut(epoch: number, isFinal: boolean): Cut {
    const { states, reader } = this.#deps;
    const topology = this.#topology;
    const partitions: Record<string, Record<string, PartitionMark>> = {};
    for (const { source, partition, mark } of this.#readers.all) {
      const marks = partitions[source.uid] ?? {};
      marks[partition] = mark;
      partitions[source.uid] = marks;
    }
    const operators = topology.saved();
    const watermarks = topology.watermarks();
    states.capture();
    const cuts = this.#writers.map((writer) => writer.cut());
    return {
      partitions,
      turn: this.#readers.turn,
      clockMs: topology.clockMs,
      recordsIn: topology.recordsIn,
      operators,
      watermarks,
      outputs: cuts.reduce((sum, { count }) => sum + count, 0),
      pauseMs: reader.clock.monotonicMs() - this.#askedMs,
      prepare: (batch) => this.#prepare(cuts, batch, isFinal ? undefined : epoch + 1),
      async abandon() {
        // In parallel: a sink that does not respond must not prevent others from stopping.
        await Promise.allSettled(
          cuts.map(async ({ sink, txn }) => {
            if (txn !== undefined) await sink.abort(txn.value);
          }),
        );
      },
    };
  }

  async #prepare(
    cuts: readonly CutTransaction[],
    batch: StorageBatch,
    next: number | undefined,
  ): Promise<Readonly<Record<string, readonly Json[]>>> {
    const [prepared] = await allOrThrow([
      allOrThrow(cuts.map((cut) => prepareCut(cut))),
      ...(next === undefined ? [] : this.#writers.map((writer) => this.#begin(writer, next))),
    ] as const);
    const handles: Record<string, readonly Json[]> = {};
    for (const [index, { sink, txn }] of cuts.entries()) {
      const handle = prepared[index] ?? null;
      handles[sink.uid] = handle === null ? [] : [handle];
      const isStored = sink instanceof OutboxStore && handle !== null;
      if (isStored) sink.fill(batch, txn?.value as never);
    }
    return handles;
  }

  async #begin(writer: SinkWriter, epoch: number): Promise<void> {
    await writer.begin(epoch);
    this.#deps.reader.wake();
  }

  committed(): void {}

  async discoverPartitions(signal: AbortSignal): Promise<void> {
    const { graph, reader } = this.#deps;
    const known = this.#readers.all.map(({ source, partition }) => ({
      source: source.uid,
      partition,
    }));
    for (const { source, partition } of await newPartitions(graph, known, signal)) {
      this.read({ source: source.uid, partition, mark: undefined });
      reader.wake();
    }
  }

  /** Starts reading another partition. */
  read({ source, partition, mark }: PartitionStart): void {
    const { graph, reader: deps } = this.#deps;
    const reader = new PartitionReader(sourceOf(graph, source), partition, mark, deps);
    this.#readers.add(reader);
    reader.start();
  }

  stopReading(): Promise<void> {
    return this.#readers.close();
  }

  async close(): Promise<void> {
    await this.stopReading();
    for (const writer of this.#writers) await writer.abort().catch(() => undefined);
  }
}

function sourceOf(graph: Graph, uid: string): Source<unknown, Json> {
  const found = graph.sources.find(({ source }) => source.uid === uid);
  assert(found !== undefined, `the pipeline has source "${uid}"`);
  return found.source;
}

// Represents all workers of a run: starts them, assigns partitions and key groups, and combines their parts into one
// cut. The store and the commits of the sinks stay in this thread, so the commit point is still one batch.
//
// A worker that fails or dies ends the attempt: the whole group is abandoned, and the run recovers from the last
// durable epoch with a new generation. The keys of a lost worker are never distributed over the others; the number of
// workers only changes with a start.
import {
  abortedError,
  assert,
  type Logger,
  type StorageBatch,
  SynclineError,
} from '@syncline/kernel';
import type { Fence, Sink } from '../ends/sink.js';
import type { Json } from '../ends/source.js';
import { streamsLimits } from '../limits.js';
import type { StoredGroup } from '../memory/memory-cells.js';
import type { Graph } from '../pipeline/graph.js';
import { newCounters, type OperatorCounters } from '../pipeline/operator.js';
import {
  type Cut,
  type Engine,
  type EngineStart,
  type EngineStatus,
  newPartitions,
  type PartitionStart,
} from '../run/engine.js';
import type { ReaderDeps } from '../run/source-reader.js';
import type { Segment } from '../snapshot/segment.js';
import { SliceBudget } from '../state/cells.js';
import { compareText } from '../state/key.js';
import type { StateSchema } from '../state/state-schema.js';
import type { StateCells } from '../store/memory-states.js';
import { OutboxStore, type OutboxTxn } from '../store/outbox.js';
import type { PipelineStates } from '../store/pipeline-states.js';
import { Coordinator } from './coordinator.js';
import { ownerOf } from './exchange.js';
import type { FromWorker, ToWorker, WorkerPart, WorkerReport } from './messages.js';

/** A running group of workers. */
export interface WorkerGroup {
  post(worker: number, message: ToWorker): void;
  /** Terminates the remaining workers. */
  close(): Promise<void>;
}

/** Callbacks of a group of workers. */
export interface WorkerEvents {
  receive(worker: number, message: FromWorker): void;
  /** The worker has ended, or was terminated. */
  lost(worker: number, reason: string): void;
}

export type SpawnWorkers = (workers: number, events: WorkerEvents) => WorkerGroup;

export interface WorkersEngineDeps {
  readonly spawn: SpawnWorkers;
  readonly count: number;
  readonly graph: Graph;
  readonly keyGroups: number;
  readonly fence: Fence;
  readonly states: PipelineStates;
  readonly cells: ReadonlyMap<string, RemoteCells>;
  readonly sinks: ReadonlyMap<string, Sink<unknown>>;
  readonly reader: Pick<ReaderDeps, 'clock' | 'wake'>;
  readonly logger: Logger;
  /** Aborted when the run ends. Pending waits are then rejected. */
  readonly signal: AbortSignal;
}

const CLOSE_PATIENCE_MS = 1_000;

export class WorkersEngine implements Engine {
  readonly #deps: WorkersEngineDeps;
  readonly #from: EngineStart;
  #group: WorkerGroup | undefined;
  readonly #coordinator: Coordinator;
  readonly #reports: (WorkerReport | undefined)[];
  readonly #partitions: PartitionStart[];
  #failure: Error | undefined;

  constructor(deps: WorkersEngineDeps, from: EngineStart) {
    const { count: workers, reader, fence, signal } = deps;
    const { clock, wake } = reader;
    this.#deps = deps;
    this.#from = from;
    this.#partitions = [...from.partitions].sort(
      (left, right) =>
        compareText(left.source, right.source) || compareText(left.partition, right.partition),
    );
    this.#reports = new Array<undefined>(workers).fill(undefined);
    this.#coordinator = new Coordinator({
      clock,
      workers,
      generation: fence.generation,
      post: (worker, message) => this.#group?.post(worker, message),
      timeoutMs: streamsLimits.alignTimeoutMs.value,
      onFailure: (error) => {
        this.#failure = error;
        wake();
      },
    });
    signal.addEventListener('abort', this.#giveUp, { once: true });
  }

  readonly #giveUp = () =>
    this.#coordinator.giveUp(abortedError('the checkpoint', this.#deps.signal));

  #receive(worker: number, message: FromWorker): void {
    const { fence, logger, reader, cells } = this.#deps;
    const isCurrent = message.generation === fence.generation;
    if (isCurrent && message.kind === 'report') {
      this.#reports[worker] = message.report;
      for (const [uid, report] of Object.entries(message.report.states)) {
        cells.get(uid)?.reports.set(worker, report);
      }
      reader.wake();
    } else if (isCurrent && message.kind === 'warned') {
      logger.warn(message.message, { ...message.fields, worker });
    } else this.#coordinator.receive(worker, message);
  }

  async start(epoch: number): Promise<void> {
    const { fence, count: workers, keyGroups, cells, spawn } = this.#deps;
    this.#group = spawn(workers, {
      receive: (worker, message) => this.#receive(worker, message),
      lost: (worker, reason) => this.#coordinator.lost(worker, workerLost(worker, reason)),
    });
    await this.#coordinator.open((worker) => ({
      generation: fence.generation,
      kind: 'start',
      fence,
      workers,
      keyGroups,
      epoch,
      from: {
        ...this.#from,
        recordsIn: 0,
        turn: null,
        partitions: this.#partitions.filter((_, index) => index % workers === worker),
      },
      states: [...cells.values()].map((each) => ({
        uid: each.schema.uid,
        codec: each.codec,
        groups: each.share((group) => ownerOf(group, workers, keyGroups) === worker),
      })),
    }));
    for (const each of cells.values()) each.forget();
  }

  /** Workers run on their own. This only gives the caller a chance to start checkpoints. */
  async work(isInterrupted: () => boolean): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    isInterrupted();
  }

  async flush(): Promise<void> {}

  async cut(epoch: number, isFinal: boolean): Promise<Cut> {
    const { cells, count, keyGroups } = this.#deps;
    const parts = await this.#coordinator.trigger(epoch, isFinal);
    for (const [uid, each] of cells) {
      each.segments = parts.flatMap(({ segments }) => segments[uid] ?? []);
      for (const [worker, { segments }] of parts.entries()) {
        const isOwned = ({ group }: Segment) => ownerOf(group, count, keyGroups) === worker;
        assert(segments[uid]?.every(isOwned) === true, 'X62 a worker changes its own keys only');
      }
    }
    this.#deps.states.capture();
    const partitions: Record<string, Cut['partitions'][string]> = {};
    const operators: Record<string, Json> = {};
    const watermarks: Record<string, number> = {};
    for (const part of parts) {
      Object.assign(operators, part.operators);
      for (const [uid, ms] of Object.entries(part.watermarks)) {
        watermarks[uid] = Math.max(watermarks[uid] ?? ms, ms);
      }
      for (const [source, marks] of Object.entries(part.partitions)) {
        partitions[source] = { ...partitions[source], ...marks };
      }
    }
    const begun = new Map<OutboxStore, OutboxTxn>();
    return {
      partitions,
      operators,
      watermarks,
      turn: null,
      clockMs: Math.max(...parts.map(({ clockMs }) => clockMs)),
      recordsIn: sum(parts, ({ recordsIn }) => recordsIn) + this.#from.recordsIn,
      outputs: sum(parts, ({ outputs }) => outputs),
      pauseMs: Math.max(...parts.map(({ pauseMs }) => pauseMs)),
      prepare: (batch) => this.#prepare(parts, batch, epoch, begun),
      async abandon() {
        for (const [sink, txn] of begun) await sink.abort(txn);
      },
    };
  }

  /** The rows of an outbox sink become one transaction, in worker order. */
  async #prepare(
    parts: readonly WorkerPart[],
    batch: StorageBatch,
    epoch: number,
    begun: Map<OutboxStore, OutboxTxn>,
  ): Promise<Readonly<Record<string, readonly Json[]>>> {
    const handles: Record<string, readonly Json[]> = {};
    for (const sink of this.#deps.sinks.values()) {
      const given = parts.flatMap((part) => part.handles[sink.uid] ?? []);
      if (!(sink instanceof OutboxStore) || given.length === 0) handles[sink.uid] = given;
      else {
        const txn = await sink.begin(epoch);
        begun.set(sink, txn);
        await sink.writeRows(txn, given.flat() as readonly string[]);
        handles[sink.uid] = [await sink.prepare(txn)];
        sink.fill(batch, txn);
      }
    }
    return handles;
  }

  committed(epoch: number): void {
    this.#coordinator.committed(epoch);
  }

  get recordsIn(): number {
    return sum(this.#known, ({ recordsIn }) => recordsIn) + this.#from.recordsIn;
  }

  get hasOutput(): boolean {
    return this.#known.some(({ hasOutput }) => hasOutput);
  }

  get isUpToDate(): boolean {
    return false;
  }

  get isFull(): boolean {
    return this.#known.some(({ isFull }) => isFull);
  }

  get isEnded(): boolean {
    return this.#reports.every((report) => report?.isEnded === true);
  }

  get nextTickMs(): number {
    return Number.POSITIVE_INFINITY;
  }

  get #known(): readonly WorkerReport[] {
    return this.#reports.filter((report) => report !== undefined);
  }

  status(): EngineStatus {
    const reports = this.#known;
    const counters = new Map<string, OperatorCounters>();
    for (const report of reports) {
      for (const [uid, counted] of report.counters) {
        const before = counters.get(uid) ?? newCounters();
        counters.set(uid, {
          late: before.late + counted.late,
          older: before.older + counted.older,
          conflicts: before.conflicts + counted.conflicts,
          deadLetters: before.deadLetters + counted.deadLetters,
          releasedEarly: before.releasedEarly + counted.releasedEarly,
        });
      }
    }
    const watermarkMs = Math.min(...reports.map((report) => report.watermarkMs));
    const lowest = reports.find((report) => report.watermarkMs === watermarkMs);
    return {
      recordsIn: this.recordsIn,
      hasOutput: this.hasOutput,
      isEnded: this.isEnded,
      watermarkMs,
      lagRecords: sum(reports, ({ lagRecords }) => lagRecords),
      idlePartitions: sum(reports, ({ idlePartitions }) => idlePartitions),
      heldBackBy: lowest?.heldBackBy ?? null,
      counters,
    };
  }

  async discoverPartitions(signal: AbortSignal): Promise<void> {
    const { graph, fence, count } = this.#deps;
    const known = this.#partitions;
    for (const { source, partition } of await newPartitions(graph, known, signal)) {
      const start: PartitionStart = { source: source.uid, partition, mark: undefined };
      const worker = (known.push(start) - 1) % count;
      this.#group?.post(worker, { generation: fence.generation, kind: 'read', partition: start });
    }
  }

  /** Does nothing: records read from now on are not part of any checkpoint, so the next run reads them again. */
  async stopReading(): Promise<void> {}

  async close(): Promise<void> {
    this.#deps.signal.removeEventListener('abort', this.#giveUp);
    if (this.#group === undefined) return; // not started, or already closed
    await this.#coordinator.abandon(CLOSE_PATIENCE_MS);
    await this.#group.close();
    this.#group = undefined;
  }
}

/** Represents the cells of one state on all workers to the checkpoint store. */
export class RemoteCells implements StateCells {
  readonly schema: StateSchema<unknown, unknown>;
  /** By worker. */
  readonly reports = new Map<number, { readonly changedBytes: number; readonly keys: number }>();
  /** The changes up to the barrier of the checkpoint that is being stored. */
  segments: readonly Segment[] = [];
  codec: string;
  #stored: ReadonlyMap<number, StoredGroup> = new Map();

  constructor(schema: StateSchema<unknown, unknown>) {
    this.schema = schema;
    this.codec = schema.codec.id;
  }

  attach(groups: ReadonlyMap<number, StoredGroup>, reader: StateSchema<unknown, unknown>): void {
    this.#stored = groups;
    this.codec = reader.codec.id;
  }

  share(isOwned: (group: number) => boolean): ReadonlyMap<number, StoredGroup> {
    return new Map([...this.#stored].filter(([group]) => isOwned(group)));
  }

  /** Frees the stored groups, which the workers have received. */
  forget(): void {
    this.#stored = new Map();
  }

  captureChanges(segments: Segment[]): ReturnType<StateCells['captureChanges']> {
    const work = passOn(this.segments, segments);
    return { advance: () => work.next().done === true, result: () => segments };
  }

  get count(): number {
    return sum([...this.reports.values()], ({ keys }) => keys);
  }

  get changedBytes(): number {
    return sum([...this.reports.values()], ({ changedBytes }) => changedBytes);
  }

  /** These do nothing: workers decode their groups and rewrite entries of another codec themselves. */
  *loadRest(): Generator<void, void> {}
  *entries(): Generator<never> {}
  touchAll(): void {}
  endCapture(): void {}
}

/** In slices, because the checkpoint store copies what it gets. */
function* passOn(from: readonly Segment[], to: Segment[]): Generator<void, void> {
  const budget = new SliceBudget();
  for (const segment of from) {
    to.push(segment);
    if (budget.spend(1, segment.bytes.length)) yield;
  }
}

function sum<T>(items: readonly T[], amountOf: (item: T) => number): number {
  return items.reduce((total, item) => total + amountOf(item), 0);
}

function workerLost(worker: number, reason: string): SynclineError {
  return new SynclineError(
    'unavailable',
    `worker ${worker} ended (${reason}). All workers return to the last checkpoint.`,
    { details: { worker, reason } },
  );
}

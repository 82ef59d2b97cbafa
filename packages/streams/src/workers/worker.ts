// One worker of a run. It has a share of the partitions, a range of key groups, and produces the part of each
// checkpoint that belongs to them. It has no store and commits nothing: it encodes the changes, makes its output
// durable without publishing it, and sends the results to the coordinator as plain values.
//
//   start ─▶ opening ─▶ running ─▶ closed        opening: the watermarks of all workers are restored to the last
//               └──────────┴────▶ failed                  checkpoint before any item is processed
//
// Requests are idempotent: a repeated trigger gets a repeated reply, but is only processed once.
import {
  assert,
  type Clock,
  type Files,
  type Logger,
  type Random,
  StorageBatch,
  SynclineError,
  silentLogger,
} from '@syncline/kernel';
import type { Json } from '../ends/source.js';
import { streamsLimits } from '../limits.js';
import type { MemoryCapture } from '../memory/memory-capture.js';
import { MemoryCells } from '../memory/memory-cells.js';
import { attachEnds, declareStates, type Graph } from '../pipeline/graph.js';
import { allOrThrow } from '../run/engine.js';
import { LocalEngine } from '../run/local-engine.js';
import { Wake } from '../run/wake.js';
import type { Entry } from '../snapshot/entry.js';
import type { Segment } from '../snapshot/segment.js';
import { nextTurn } from '../state/cells.js';
import { OutboxRows } from '../store/outbox.js';
import type { AnyCells } from '../store/pipeline-states.js';
import { Exchange } from './exchange.js';
import {
  type FromWorker,
  type PeerMessage,
  plainError,
  type StateShare,
  type ToWorker,
  type WorkerPart,
  type WorkerStart,
} from './messages.js';

export interface WorkerDeps {
  readonly graph: Graph;
  readonly index: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly files: Files;
  readonly path: (path: string) => string;
  /** Sends a message to the coordinator. */
  readonly tell: (message: FromWorker) => void;
  /** Sends a message to another worker. */
  readonly send: (worker: number, message: PeerMessage) => void;
}

/** Minimum interval between progress reports of a busy worker. */
const REPORT_MS = 50;
const WAIT_MS_MAX = 1_000;

export class PipelineWorker {
  readonly #deps: WorkerDeps;
  readonly #wake = new Wake();
  readonly #states = new WorkerStates();
  readonly #rows: OutboxRows[] = [];
  #generation = 0;
  #workers = 1;
  #exchange: Exchange | undefined;
  #engine: LocalEngine | undefined;
  /** Messages from other workers that arrived before this worker was started. */
  #early: { readonly from: number; readonly message: PeerMessage }[] = [];
  #answer: { readonly epoch: number; part: WorkerPart | undefined } | undefined;
  #isClosing = false;
  #running: Promise<void> = Promise.resolve();
  #reportedMs = Number.NEGATIVE_INFINITY;
  #reported = '';

  constructor(deps: WorkerDeps) {
    this.#deps = deps;
  }

  receive(message: ToWorker): void {
    if (message.kind === 'start') {
      if (this.#generation !== 0) return; // a repeated message
      this.#generation = message.generation;
      this.#running = this.#run(message)
        .catch((thrown: unknown) => this.#fail(thrown))
        .then(() => this.#end());
      return;
    }
    if (message.generation !== this.#generation) {
      const error = new SynclineError(
        'fenced',
        `worker ${this.#deps.index} belongs to another generation`,
      );
      this.#deps.tell({ generation: message.generation, kind: 'nack', error: plainError(error) });
      return;
    }
    if (message.kind === 'trigger') this.#trigger(message.epoch, message.isFinal);
    else if (message.kind === 'read') this.#engine?.read(message.partition);
    else if (message.kind === 'abandoned') void this.close();
    else if (this.#answer?.epoch === message.epoch) this.#answer.part = undefined;
  }

  receiveFrom(worker: number, message: PeerMessage): void {
    if (this.#exchange === undefined) {
      this.#early.push({ from: worker, message });
      return;
    }
    try {
      this.#exchange.receive(worker, message);
    } catch (thrown) {
      this.#fail(thrown);
    }
    this.#wake.call();
  }

  async #run(start: WorkerStart): Promise<void> {
    const { clock } = this.#deps;
    const { engine, exchange } = await this.#open(start);
    this.#exchange = exchange;
    for (const { from, message } of this.#early) exchange.receive(from, message);
    this.#early = [];
    exchange.hold(start.epoch - 1);
    while (!exchange.isAligned && !this.#isClosing) {
      await engine.work(() => exchange.isAligned || this.#isClosing);
      if (!exchange.isAligned) await this.#wake.wait();
    }
    exchange.release();
    await engine.start(start.epoch);
    this.#engine = engine;
    this.#tell({ kind: 'ready' });
    while (!this.#isClosing) {
      await engine.work(() => this.#isInterrupted());
      if (this.#isClosing) break;
      await engine.flush();
      this.#report(false);
      const tickMs = engine.nextTickMs - clock.nowMs();
      const timer = clock.setTimer(Math.min(Math.max(tickMs, 1), WAIT_MS_MAX), this.#wake.call);
      await this.#wake.wait();
      timer.cancel();
    }
  }

  async #end(): Promise<void> {
    await this.#engine?.close();
    for (const { source } of this.#deps.graph.sources) await source.close?.();
    this.#tell({ kind: 'closed' });
  }

  async #open(start: WorkerStart): Promise<{ engine: LocalEngine; exchange: Exchange }> {
    const { graph, index, clock, random, files, path, send } = this.#deps;
    const { fence, workers, keyGroups, states, from } = start;
    this.#workers = workers;
    attachEnds(graph, { files, path, clock, logger: this.#logger() });
    const exchange = new Exchange({
      graph,
      self: index,
      workers,
      keyGroups,
      generation: this.#generation,
      send,
      isFull: () => this.#isFull,
    });
    const cells = await this.#states.open(graph, keyGroups, states, clock);
    const sinks = [...graph.sinks.values()].map((sink) => {
      if (!('kind' in sink)) return sink;
      const rows = new OutboxRows(sink);
      this.#rows.push(rows);
      return rows;
    });
    const engine = await LocalEngine.create(
      {
        graph,
        keyGroups,
        fence,
        slot: index,
        states: this.#states,
        cells,
        sinks: new Map(sinks.map((sink) => [sink.uid, sink])),
        reader: {
          clock,
          random,
          wake: this.#wake.call,
          onRetry: (uid, { code }) => this.#warn('source unavailable', { source: uid, code }),
        },
        peers: exchange,
      },
      from,
    );
    return { engine, exchange };
  }

  /** Whether this worker has used its share of the changes allowed between checkpoints. */
  get #isFull(): boolean {
    const { dirtyBytesMax, outboxBytesMax } = streamsLimits;
    const rowBytes = this.#rows.reduce((sum, { waitingBytes }) => sum + waitingBytes, 0);
    const isFull = rowBytes * this.#workers > outboxBytesMax.value;
    return isFull || this.#states.changedBytes * this.#workers > dirtyBytesMax.value;
  }

  #isInterrupted(): boolean {
    if (this.#deps.clock.monotonicMs() - this.#reportedMs >= REPORT_MS) this.#report(true);
    return this.#isClosing;
  }

  /** Reports progress. A waiting worker only does so if something has changed. */
  #report(isBusy: boolean): void {
    const nowMs = this.#deps.clock.monotonicMs();
    const engine = this.#engine as LocalEngine;
    const report = { ...engine.status(nowMs), states: this.#states.report(), isFull: this.#isFull };
    const text = isBusy ? '' : JSON.stringify({ ...report, counters: [...report.counters] });
    if (!isBusy && text === this.#reported) return;
    this.#reported = text;
    this.#reportedMs = nowMs;
    this.#tell({ kind: 'report', report });
  }

  #trigger(epoch: number, isFinal: boolean): void {
    const { part } = this.#answer ?? {};
    if (this.#answer !== undefined && epoch <= this.#answer.epoch) {
      if (this.#answer.epoch === epoch && part !== undefined)
        this.#tell({ kind: 'ack', epoch, part });
      return; // it is in progress, or was committed
    }
    this.#answer = { epoch, part: undefined };
    void this.#checkpoint(epoch, isFinal).catch((thrown: unknown) => this.#fail(thrown));
  }

  async #checkpoint(epoch: number, isFinal: boolean): Promise<void> {
    const engine = this.#engine;
    assert(engine !== undefined, 'a worker is ready before it is asked for a checkpoint');
    const cut = await engine.cut(epoch, isFinal);
    const [segments, handles] = await allOrThrow([
      this.#states.encode(this.#deps.clock),
      cut.prepare(new StorageBatch()), // rows are sent as values, so nothing is added to the batch
    ] as const);
    const { prepare: _, abandon: __, ...facts } = cut;
    const part: WorkerPart = { ...facts, segments, handles };
    this.#answer = { epoch, part };
    this.#tell({ kind: 'ack', epoch, part });
  }

  #fail(thrown: unknown): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#tell({ kind: 'nack', error: plainError(thrown) });
    this.#wake.call();
  }

  /** Discards everything that is not committed. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#wake.call();
    await this.#running;
  }

  #tell(message: Distribute<FromWorker>): void {
    this.#deps.tell({ generation: this.#generation, ...message });
  }

  #warn(message: string, fields: Record<string, Json>): void {
    this.#tell({ kind: 'warned', message, fields });
  }

  #logger(): Logger {
    const warn: Logger['warn'] = (message, fields = {}) =>
      this.#warn(message, JSON.parse(JSON.stringify(fields)) as Record<string, Json>);
    return { ...silentLogger, warn, error: warn };
  }
}

type Distribute<T> = T extends unknown ? Omit<T, 'generation'> : never;

/** The states of a worker: the keys of its groups, in memory only. */
class WorkerStates {
  readonly #cells = new Map<string, MemoryCells<unknown, unknown>>();
  #captured: {
    readonly uid: string;
    readonly capture: MemoryCapture<unknown, unknown, readonly Segment[]>;
  }[] = [];

  async open(
    graph: Graph,
    keyGroups: number,
    shares: readonly StateShare[],
    clock: Clock,
  ): Promise<ReadonlyMap<string, AnyCells>> {
    const snapshotBytesMax = streamsLimits.snapshotBytesMax.value;
    for (const { schema, migrateFrom } of declareStates(graph, keyGroups)) {
      const cells = new MemoryCells(schema, clock, { snapshotBytesMax, isTracked: true });
      this.#cells.set(schema.uid, cells);
      const share = shares.find(({ uid }) => uid === schema.uid);
      if (share === undefined) continue;
      const reader = [schema, ...migrateFrom].find(({ codec }) => codec.id === share.codec);
      assert(reader !== undefined, 'the coordinator has found the codec');
      cells.attach(share.groups, reader);
      if (reader !== schema) cells.touchAll();
    }
    return this.#cells;
  }

  async forEach(uid: string, visit: (entry: Entry<unknown, unknown>) => void): Promise<void> {
    for (const entry of this.#cells.get(uid)?.entries() ?? []) visit(entry);
  }

  capture(): void {
    assert(this.#captured.length === 0, 'one checkpoint at a time');
    this.#captured = Array.from(this.#cells, ([uid, cells]) => ({
      uid,
      capture: cells.captureChanges(),
    }));
  }

  async encode(clock: Clock): Promise<WorkerPart['segments']> {
    const segments: Record<string, readonly Segment[]> = {};
    for (const { uid, capture } of this.#captured) {
      while (!capture.advance()) await nextTurn(clock);
      this.#cells.get(uid)?.endCapture();
      segments[uid] = capture.result();
    }
    this.#captured = [];
    return segments;
  }

  get changedBytes(): number {
    let bytes = 0;
    for (const { changedBytes } of this.#cells.values()) bytes += changedBytes;
    return bytes;
  }

  report(): Record<string, { readonly changedBytes: number; readonly keys: number }> {
    return Object.fromEntries(
      Array.from(this.#cells, ([uid, { changedBytes, count: keys }]) => [
        uid,
        { changedBytes, keys },
      ]),
    );
  }
}

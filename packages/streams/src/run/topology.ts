// The connected operators of one attempt: batches of the sources go in, outputs arrive at the sinks.
//
// X35  The numbers of records depend only on the position in their partition, including bad and dropped ones, so after
//      a replay every record has the same logical time.
import { assert, SynclineError } from '@syncline/kernel';
import { partitionName, recordName } from '../ends/partition-name.js';
import type { BadItem, Json, SourceBatch } from '../ends/source.js';
import { streamsLimits } from '../limits.js';
import { type Batch, select } from '../pipeline/batch.js';
import {
  type AnySink,
  type Graph,
  type GraphNode,
  type SourceNode,
  sourcesOf,
} from '../pipeline/graph.js';
import {
  checkNoPromise,
  newCounters,
  type Operator,
  type OperatorCounters,
  type OperatorEnv,
} from '../pipeline/operator.js';
import { EntryOperator } from '../pipeline/stateless.js';
import { badRecord } from '../state/state-error.js';
import type { Head } from '../store/layout.js';
import type { AnyCells, PipelineStates } from '../store/pipeline-states.js';
import type { Peers } from './engine.js';
import { SinkWriter } from './sink-writer.js';
import type { PartitionReader, SourceReaders } from './source-reader.js';

export interface TopologyDeps {
  readonly graph: Graph;
  readonly keyGroups: number;
  readonly clockMs: number;
  readonly recordsIn: number;
  /** What operators saved in addition to their states, by uid. */
  readonly operators: Head['operators'];
  readonly watermarks: Head['watermarks'];
  readonly states: Pick<PipelineStates, 'forEach'>;
  /** By operator and state. */
  readonly cells: ReadonlyMap<string, AnyCells>;
  readonly readers: SourceReaders;
  readonly writers: ReadonlyMap<string, SinkWriter>;
  readonly peers?: Peers | undefined;
}

/** A bad record of a source, or an item without a valid event time. */
type RefusedRecord = Pick<BadItem, 'reason' | 'place'> & { readonly raw: unknown };

export class Topology {
  readonly counters = new Map<string, OperatorCounters>();
  recordsIn: number;
  /** The highest wall-clock time that clock timers have seen. */
  clockMs: number;
  readonly #deps: TopologyDeps;
  readonly #operators: Operator[] = [];
  readonly #entries = new Map<
    string,
    { readonly node: SourceNode; readonly entry: EntryOperator }
  >();
  readonly #uids = new Map<Operator, string>();

  private constructor(deps: TopologyDeps) {
    this.#deps = deps;
    this.recordsIn = deps.recordsIn;
    this.clockMs = deps.clockMs;
  }

  static async create(deps: TopologyDeps): Promise<Topology> {
    const topology = new Topology(deps);
    const made = new Map<GraphNode, Operator>();
    for (const node of deps.graph.nodes) {
      const operator = topology.#create(node);
      made.set(node, operator);
      for (const input of node.inputs) made.get(input)?.connect(operator);
      if (!(operator instanceof SinkWriter)) topology.#operators.push(operator);
      if (node.isExchange === true && deps.peers !== undefined) {
        const exchange = deps.peers.exchange(node);
        operator.connect(exchange);
        made.set(node, exchange);
      }
      if (node.uid !== undefined) {
        topology.#uids.set(operator, node.uid);
        operator.resume(deps.watermarks?.[node.uid] ?? Number.NEGATIVE_INFINITY);
      }
    }
    for (const operator of topology.#operators) await operator.load();
    topology.#raiseAll();
    return topology;
  }

  #create(node: GraphNode): Operator {
    if (node.sink !== undefined) return this.#writer(node.sink);
    if (node.create !== undefined) return node.create(this.#env(node));
    const source = this.#deps.graph.sources.find((each) => each.node === node);
    assert(source !== undefined, 'a node without operator is a source');
    const entry = new EntryOperator(node.name);
    this.#entries.set(source.source.uid, { node: source, entry });
    return entry;
  }

  get writers(): ReadonlyMap<string, SinkWriter> {
    return this.#deps.writers;
  }

  #writer(sink: AnySink): SinkWriter {
    const writer = this.#deps.writers.get(sink.uid);
    assert(writer !== undefined, 'every sink has a writer');
    return writer;
  }

  #env(node: GraphNode): OperatorEnv {
    const { keyGroups, operators, states, cells, readers, graph } = this.#deps;
    const counters = newCounters();
    this.counters.set(node.name, counters);
    const uids = new Set(sourcesOf(graph, node).map(({ source }) => source.uid));
    return {
      name: node.name,
      keyGroups,
      counters,
      deadLetters: node.onError && this.#writer(node.onError),
      late: node.late && this.#writer(node.late),
      partitions: () => readers.all.filter(({ source }) => uids.has(source.uid)),
      restored: node.uid === undefined ? undefined : operators[node.uid],
      cells(state) {
        const found = cells.get(`${node.uid}/${state}`);
        assert(found !== undefined, `state "${node.uid}/${state}" is open`);
        return found;
      },
      forEach: (state, visit) => states.forEach(`${node.uid}/${state}`, visit),
    };
  }

  /** Passes one batch of a partition through all operators. Nothing is in flight afterwards. */
  take(reader: PartitionReader, batch: SourceBatch<unknown, Json>, nowMs: number): void {
    const known = this.#entries.get(reader.source.uid);
    assert(known !== undefined, 'a batch comes from a source of the pipeline');
    const { entry, node } = known;
    const { eventTime, outOfOrderMs = 0 } = node.options;
    const { value: itemsMax } = streamsLimits.batchItemsMax;
    const { items } = batch;
    const rounds = this.#number(reader, batch, node);
    for (let start = 0; start < items.length; start += itemsMax) {
      const isWhole = items.length <= itemsMax;
      const chunk: Batch = {
        items: isWhole ? items : items.slice(start, start + itemsMax),
        keys: undefined,
        rounds: isWhole ? rounds : rounds.slice(start, start + itemsMax),
        indexes: undefined,
        times: undefined,
        origin: reader.origin,
        epoch: reader.incarnation,
        emitter: reader.source.uid,
      };
      const made = eventTime === undefined ? chunk : this.#timed(reader, node, chunk, eventTime);
      if (made.items.length > 0) entry.take(made);
    }
    this.recordsIn += items.length + (batch.bad?.length ?? 0);
    reader.position = batch.position;
    reader.lastMs = nowMs;
    reader.lagRecords = batch.lagRecords ?? 0;
    reader.isIdle = batch.idle === true;
    if (eventTime !== undefined) {
      reader.watermarkMs = Math.max(reader.watermarkMs, reader.highestMs - outOfOrderMs - 1);
    }
    if (batch.watermarkMs !== undefined) {
      reader.watermarkMs = Math.max(reader.watermarkMs, batch.watermarkMs);
    }
    if (batch.nextIncarnation === true) {
      reader.incarnation += 1;
      reader.count = 0;
    }
    if (batch.end === true) {
      reader.isEnded = true;
      reader.watermarkMs = Number.POSITIVE_INFINITY;
    }
    this.settle();
  }

  /** Called between batches: buffers release sealed items, then event time advances. */
  settle(): void {
    for (const operator of this.#operators) operator.settle();
    this.#raiseAll();
  }

  #raiseAll(): void {
    for (const [uid, { entry }] of this.#entries) {
      let lowest = Number.POSITIVE_INFINITY;
      let isKnown = false;
      for (const { source, isIdle, watermarkMs } of this.#deps.readers.all) {
        if (source.uid !== uid || isIdle) continue;
        isKnown = true;
        lowest = Math.min(lowest, watermarkMs);
      }
      entry.advanceWatermark(isKnown ? lowest : 'idle');
    }
  }

  tick(nowMs: number): void {
    this.clockMs = Math.max(this.clockMs, nowMs);
    for (const operator of this.#operators) operator.tick(this.clockMs);
  }

  get nextTickMs(): number {
    return this.#operators.reduce(
      (next, operator) => Math.min(next, operator.nextTickMs),
      Number.POSITIVE_INFINITY,
    );
  }

  /** The only partitions to read for now, because a buffer is nearly full. */
  wanted(): ReadonlySet<string> | undefined {
    for (const operator of this.#operators) {
      const wanted = operator.wanted();
      if (wanted !== undefined) return wanted;
    }
    return undefined;
  }

  saved(): Readonly<Record<string, Json>> {
    const saved: Record<string, Json> = {};
    for (const operator of this.#operators) {
      const uid = this.#uids.get(operator);
      const value = uid === undefined ? undefined : operator.saved();
      if (uid !== undefined && value !== undefined) saved[uid] = value;
    }
    return saved;
  }

  /** The watermark of each operator, if it is known and finite. */
  watermarks(): Readonly<Record<string, number>> {
    const reached = Array.from(this.#uids, ([{ watermarkMs }, uid]) => [uid, watermarkMs] as const);
    return Object.fromEntries(reached.filter(([, ms]) => Number.isFinite(ms)));
  }

  /** The lowest watermark of all sources. */
  get watermarkMs(): number {
    let lowest = Number.POSITIVE_INFINITY;
    for (const { entry } of this.#entries.values()) lowest = Math.min(lowest, entry.watermarkMs);
    return lowest;
  }

  /** Reads the event times. Items without a valid one are bad records. */
  #timed(
    reader: PartitionReader,
    node: SourceNode,
    batch: Batch,
    eventTime: (item: unknown) => number,
  ): Batch {
    const { items, rounds } = batch;
    const times = new Array<number>(items.length);
    const refused = new Set<number>();
    for (let at = 0; at < items.length; at += 1) {
      try {
        const timeMs = eventTime(items[at]);
        checkTime(timeMs);
        if (timeMs > reader.highestMs) reader.highestMs = timeMs;
        times[at] = timeMs;
      } catch (thrown) {
        const { message } = SynclineError.from(thrown);
        const reason = `its event time is unknown: ${message}`;
        this.#refuseBad(reader, node, rounds[at] as number, { raw: items[at], reason });
        refused.add(at);
      }
    }
    const timed = { ...batch, times };
    if (refused.size === 0) return timed;
    return select(
      timed,
      [...items.keys()].filter((at) => !refused.has(at)),
    );
  }

  /** The rounds of the items. Bad records have rounds too, and go to the dead letters or stop the run. */
  #number(reader: PartitionReader, batch: SourceBatch<unknown, Json>, node: SourceNode): number[] {
    const rounds = new Array<number>(batch.items.length);
    const bad = batch.bad ?? [];
    let round = reader.count;
    let nextBad = 0;
    for (let at = 0; at <= batch.items.length; at += 1) {
      for (let item = bad[nextBad]; item !== undefined && item.at <= at; item = bad[nextBad]) {
        this.#refuseBad(reader, node, round, item);
        nextBad += 1;
        round += 1;
      }
      if (at === batch.items.length) break;
      rounds[at] = round;
      round += 1;
    }
    reader.count = round;
    return rounds;
  }

  #refuseBad(
    reader: PartitionReader,
    { source, options }: SourceNode,
    round: number,
    { raw, reason, place }: RefusedRecord,
  ): void {
    const { onBad = 'fail' } = options;
    const details = { uid: source.uid, partition: reader.partition, position: round, reason };
    if (onBad === 'fail') {
      const what =
        place === undefined
          ? recordName(reader.origin, round)
          : `${place} of ${partitionName(source.uid, reader.partition)}`;
      throw new SynclineError(
        'bad-record',
        `${what} is bad: ${reason}. ` +
          'Repair it, or give the source `onBad` with a sink for such records.',
        { details },
      );
    }
    const counters = this.counters.get(source.uid) ?? newCounters();
    counters.deadLetters += 1;
    this.counters.set(source.uid, counters);
    const one: Batch = {
      items: [raw],
      keys: undefined,
      rounds: [round],
      indexes: undefined,
      times: undefined,
      origin: reader.origin,
      epoch: reader.incarnation,
      emitter: source.uid,
    };
    this.#writer(onBad).add(
      source.uid,
      one,
      0,
      new SynclineError('bad-record', reason, { details }),
    );
  }
}

function checkTime(timeMs: unknown): void {
  checkNoPromise(timeMs);
  if (Number.isSafeInteger(timeMs)) return;
  throw badRecord(`eventTime returned ${String(timeMs)}, which is not in whole milliseconds`);
}

// Passes items between the workers of a run. After every `keyBy`, each item goes to the worker that owns its key, over
// one channel per `keyBy` and pair of workers. Channels preserve order, and at most `channelBatchesMax` batches of a
// channel are in flight or waiting at the receiver.
//
// Barriers are aligned. When a checkpoint is requested, a worker stops reading, sends a barrier after everything it has
// sent so far, and holds back each channel that has delivered a barrier until all channels have. The output of a
// `keyBy` depends on sources and on earlier `keyBy`s, so its barrier follows theirs.
//
// There are no circular waits: a batch is only processed if its output may be sent, and the last `keyBy` of a graph
// only leads to sinks. So the last one always makes progress, and then the one before it.
//
// X60  A channel that has delivered the barrier of an epoch delivers nothing more until the worker has captured its
//      state; so a cut contains everything that was sent before the barrier, and nothing sent after it.
// X61  At most `channelBatchesMax` batches of a channel are in flight or waiting, and there are no deadlocks.
// X62  A key has one owner: the worker floor(group · workers / keyGroups).
import { assert, SynclineError } from '@syncline/kernel';
import { streamsLimits } from '../limits.js';
import { type Batch, select } from '../pipeline/batch.js';
import type { Graph, GraphNode } from '../pipeline/graph.js';
import { Operator, type Watermark } from '../pipeline/operator.js';
import type { Peers } from '../run/engine.js';
import { groupOf, type Key } from '../state/key.js';
import type { Frame, PeerMessage } from './messages.js';

export function ownerOf(group: number, workers: number, keyGroups: number): number {
  return Math.floor((group * workers) / keyGroups);
}

export interface ExchangeDeps {
  readonly graph: Graph;
  readonly self: number;
  readonly workers: number;
  readonly keyGroups: number;
  readonly generation: number;
  readonly send: (worker: number, message: PeerMessage) => void;
  /** Whether so much has changed that sources must wait for a checkpoint. */
  readonly isFull: () => boolean;
}

/** The channel from one worker through one `keyBy`. */
interface Inbound {
  readonly from: number;
  readonly frames: Frame[];
  /** The barrier that it has delivered. Nothing after it is processed yet. */
  barrier: number | undefined;
}

/** The channel to one worker through one `keyBy`. */
interface Outbound {
  credit: number;
  /** A batch that waits for credit, and everything after it. */
  readonly waiting: Frame[];
}

/** One `keyBy`, as one worker sees it. */
interface Crossing {
  readonly number: number;
  readonly operator: ExchangeOperator;
  /** Its output depends on these, and on sources. */
  readonly upstream: readonly Crossing[];
  readonly inbound: ReadonlyMap<number, Inbound>;
  readonly outbound: ReadonlyMap<number, Outbound>;
  /** The last barrier that this worker has sent. */
  sent: number | undefined;
}

export class Exchange implements Peers {
  readonly #deps: ExchangeDeps;
  /** In graph order: later ones may depend on earlier ones. */
  readonly #crossings: Crossing[] = [];
  readonly #byNumber = new Map<number, Crossing>();
  readonly #peers: readonly number[];
  readonly #outgoing = new Map<number, Frame[]>();
  readonly #sent = new Map<number, number>();
  readonly #received = new Map<number, number>();
  #holding: number | undefined;
  /** Frames waiting for credit, over all channels. */
  #waiting = 0;
  #turn = 0;

  constructor(deps: ExchangeDeps) {
    this.#deps = deps;
    const { self, workers } = deps;
    this.#peers = Array.from({ length: workers }, (_, worker) => worker).filter((w) => w !== self);
  }

  exchange(node: GraphNode): Operator {
    const { graph, self, workers, keyGroups } = this.#deps;
    const number = graph.nodes.indexOf(node);
    const credit = streamsLimits.channelBatchesMax.value;
    const send = (worker: number, frame: Frame) => this.#send(crossing, worker, frame);
    const crossing: Crossing = {
      number,
      operator: new ExchangeOperator(node.name, number, { self, workers, keyGroups, send }),
      upstream: this.#crossings.filter((other) => isUpstreamOf(graph.nodes[other.number], node)),
      inbound: new Map(this.#peers.map((from) => [from, { from, frames: [], barrier: undefined }])),
      outbound: new Map(this.#peers.map((to) => [to, { credit, waiting: [] }])),
      sent: undefined,
    };
    this.#crossings.push(crossing);
    this.#byNumber.set(number, crossing);
    return crossing.operator;
  }

  #send({ outbound }: Crossing, to: number, frame: Frame): void {
    const channel = outbound.get(to);
    assert(channel !== undefined, `there is a worker ${to}`);
    const mustWait = channel.waiting.length > 0 || (frame.kind === 'items' && channel.credit === 0);
    if (mustWait) {
      channel.waiting.push(frame);
      this.#waiting += 1;
    } else this.#post(channel, to, frame);
  }

  #post(channel: Outbound, to: number, frame: Frame): void {
    if (frame.kind === 'items') channel.credit -= 1;
    assert(channel.credit >= 0, 'X61 nothing is sent without credit');
    this.#addFrame(to, frame);
  }

  flush(): void {
    const { generation, send } = this.#deps;
    for (const [to, frames] of this.#outgoing) {
      const sequence = (this.#sent.get(to) ?? 0) + 1;
      this.#sent.set(to, sequence);
      send(to, { generation, sequence, frames });
    }
    this.#outgoing.clear();
  }

  /** Ignores repeated messages. A missing message ends the attempt. */
  receive(from: number, { generation, sequence, frames }: PeerMessage): void {
    if (generation !== this.#deps.generation) return;
    const expected = (this.#received.get(from) ?? 0) + 1;
    if (sequence < expected) return;
    if (sequence > expected) {
      throw new SynclineError(
        'unavailable',
        `message ${expected} of worker ${from} to worker ${this.#deps.self} was lost`,
        { details: { worker: from } },
      );
    }
    this.#received.set(from, sequence);
    for (const frame of frames) this.#accept(from, frame);
    this.flush();
  }

  #accept(from: number, frame: Frame): void {
    const crossing = this.#byNumber.get(frame.exchange);
    assert(crossing !== undefined, 'all workers run the same pipeline');
    if (frame.kind === 'credit') {
      this.#addCredit(crossing, from, frame.batches);
      return;
    }
    const channel = crossing.inbound.get(from);
    assert(channel !== undefined, `there is a worker ${from}`);
    channel.frames.push(frame);
  }

  #addCredit({ outbound }: Crossing, to: number, batches: number): void {
    const channel = outbound.get(to);
    assert(channel !== undefined, `there is a worker ${to}`);
    channel.credit += batches;
    for (let next = channel.waiting[0]; next !== undefined; next = channel.waiting[0]) {
      if (next.kind === 'items' && channel.credit === 0) return;
      channel.waiting.shift();
      this.#waiting -= 1;
      this.#post(channel, to, next);
    }
  }

  /** Processes later crossings first, so that they make room for earlier ones. */
  step(): boolean {
    for (const crossing of this.#crossings.toReversed()) {
      if (this.#isBlocked(crossing)) continue;
      const { inbound } = crossing;
      for (let count = 0; count < this.#peers.length; count += 1) {
        this.#turn = (this.#turn + 1) % this.#peers.length;
        const channel = inbound.get(this.#peers[this.#turn] ?? -1);
        if (channel === undefined || channel.barrier !== undefined) continue;
        const frame = channel.frames.shift();
        if (frame === undefined) continue;
        this.#take(crossing, channel, frame);
        return true;
      }
    }
    return false;
  }

  /** Whether its output may have to wait for credit. */
  #isBlocked(crossing: Crossing): boolean {
    if (this.#waiting === 0) return false;
    return this.#crossings.some(
      ({ upstream, outbound }) =>
        upstream.includes(crossing) &&
        [...outbound.values()].some(({ waiting }) => waiting.length > 0),
    );
  }

  #take(crossing: Crossing, channel: Inbound, frame: Frame): void {
    const { operator, number: exchange } = crossing;
    switch (frame.kind) {
      case 'items': {
        operator.receive(frame.batch);
        this.#addFrame(channel.from, { exchange, kind: 'credit', batches: 1 });
        return;
      }
      case 'watermark':
        operator.advance(operator.inputOf(channel.from), frame.watermark);
        return;
      case 'barrier':
        channel.barrier = frame.epoch;
        this.#passBarriers();
        return;
      case 'credit':
        assert(false, 'credit does not wait in a channel');
    }
  }

  /** Credit is added here directly: it never waits, since others are waiting for it. */
  #addFrame(to: number, frame: Frame): void {
    const frames = this.#outgoing.get(to);
    if (frames === undefined) this.#outgoing.set(to, [frame]);
    else frames.push(frame);
  }

  get isHeld(): boolean {
    return this.#holding !== undefined || this.#waiting > 0 || this.#deps.isFull();
  }

  hold(epoch: number): void {
    assert(this.#holding === undefined, 'one barrier at a time');
    this.#holding = epoch;
    this.#passBarriers();
    this.flush();
  }

  /** Sends the barrier for each `keyBy` that can no longer emit anything for this epoch. */
  #passBarriers(): void {
    const epoch = this.#holding;
    if (epoch === undefined) return;
    for (const crossing of this.#crossings) {
      if (crossing.sent === epoch || !crossing.upstream.every((each) => this.#isCut(each)))
        continue;
      crossing.sent = epoch;
      for (const to of this.#peers) {
        this.#send(crossing, to, { exchange: crossing.number, kind: 'barrier', epoch });
      }
    }
  }

  #isCut({ sent, inbound }: Crossing): boolean {
    const epoch = this.#holding;
    return sent === epoch && [...inbound.values()].every(({ barrier }) => barrier === epoch);
  }

  get isAligned(): boolean {
    return this.#holding !== undefined && this.#crossings.every((each) => this.#isCut(each));
  }

  release(): void {
    this.#holding = undefined;
    for (const { inbound } of this.#crossings) {
      for (const channel of inbound.values()) channel.barrier = undefined;
    }
  }
}

interface ExchangeOperatorDeps {
  readonly self: number;
  readonly workers: number;
  readonly keyGroups: number;
  readonly send: (worker: number, frame: Frame) => void;
}

/** Sits between a `keyBy` and its keyed operators. Its inputs are the local `keyBy` and all other workers. */
class ExchangeOperator extends Operator {
  readonly #number: number;
  readonly #deps: ExchangeOperatorDeps;
  readonly #inputs = new Map<number, number>();

  constructor(name: string, number: number, deps: ExchangeOperatorDeps) {
    super(name);
    this.#number = number;
    this.#deps = deps;
    for (let worker = 0; worker < deps.workers; worker += 1) {
      if (worker !== deps.self) this.#inputs.set(worker, this.addInput());
    }
  }

  inputOf(worker: number): number {
    const input = this.#inputs.get(worker);
    assert(input !== undefined, `there is a worker ${worker}`);
    return input;
  }

  take(batch: Batch): void {
    const { self, workers, keyGroups, send } = this.#deps;
    const keys = batch.keys as readonly Key[];
    const places: number[][] = Array.from({ length: workers }, () => []);
    for (let at = 0; at < keys.length; at += 1) {
      const group = groupOf(keys[at] as Key, keyGroups);
      places[ownerOf(group, workers, keyGroups)]?.push(at);
    }
    for (const [worker, chosen] of places.entries()) {
      if (chosen.length === 0) continue;
      const share = select(batch, chosen);
      if (worker === self) this.emit(share);
      else send(worker, { exchange: this.#number, kind: 'items', batch: share });
    }
  }

  receive(batch: Batch): void {
    this.emit(batch);
  }

  override advance(input: number, watermark: Watermark): void {
    const isOwn = ![...this.#inputs.values()].includes(input);
    if (isOwn) {
      for (const worker of this.#inputs.keys()) {
        this.#deps.send(worker, { exchange: this.#number, kind: 'watermark', watermark });
      }
    }
    super.advance(input, watermark);
  }
}

function isUpstreamOf(from: GraphNode | undefined, to: GraphNode): boolean {
  return to.inputs.some((input) => input === from || isUpstreamOf(from, input));
}

// The streams of one namespace: each change of a cell is sent to all of them, in rounds.
//
// The first change schedules a round after the messages that are already readable, so bursts coalesce and a
// single change waits for nothing; or, with an interval, one round sends everything that happened in it. Values
// come from mirrors, one per live seed, so the store is never read on this path.
import { type Clock, type Metrics, type Random, SynclineError, type Timer } from '@syncline/kernel';
import { fairLimits } from '../limits.js';
import type { FairMetricName } from '../metrics-list.js';
import type { AnswerPace } from './answer-pace.js';
import { type Delivered, deliverRound, encodeRound, takeParts } from './broadcast-round.js';
import { type CatchUpSource, catchUp } from './catch-up.js';
import type { Applied, Namespace } from './fair-store.js';
import type { StoreTimes } from './memory-seed.js';
import { type SnapshotPage, SnapshotPages } from './response-frames.js';
import { SeedMirror } from './seed-mirror.js';
import type { StreamOutbox } from './stream-outbox.js';

/** Requests of a stream for the state of a named seed, within this time, share one answer. */
const SHARED_ANSWER_MS = 100;

export interface BroadcastHubDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics<FairMetricName>;
  readonly pace: AnswerPace;
}

export interface BroadcastHubOptions {
  readonly namespace: Namespace;
  /** Value of the metric label `tracker`. */
  readonly label: string;
  readonly broadcastIntervalMs: number;
  readonly broadcastBudgetCells: number;
  /** Whether answers may name the seed now. */
  isLive(seed: bigint): boolean;
}

export class BroadcastHub implements CatchUpSource {
  readonly #deps: BroadcastHubDeps;
  readonly #options: BroadcastHubOptions;
  readonly #labels: { readonly tracker: string };
  readonly #mirrors = new Map<bigint, SeedMirror>();
  readonly #outboxes = new Set<StreamOutbox>();
  readonly #acks = new HeldAcks();
  readonly #pages: SnapshotPages;
  /** Counts changes, over all seeds. */
  #changesCount = 0;
  /** When the changes that wait for a round were received. */
  #receivedAtMs: number[] = [];
  #roundTimer: Timer | undefined;
  /** 0 in the default tracker: no field of ours is sent there. */
  epoch = 0;
  activeInstances = 0;

  constructor(deps: BroadcastHubDeps, options: BroadcastHubOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#labels = { tracker: options.label };
    this.#pages = new SnapshotPages(deps.clock);
  }

  get streamsCount(): number {
    return this.#outboxes.size;
  }

  get behindCount(): number {
    let count = 0;
    for (const outbox of this.#outboxes) if (outbox.isBehind) count += 1;
    return count;
  }

  get mirrors(): ReadonlyMap<bigint, SeedMirror> {
    return this.#mirrors;
  }

  liveMirror(seed: bigint): SeedMirror | undefined {
    return this.#options.isLive(seed) ? this.#mirrors.get(seed) : undefined;
  }

  join(outbox: StreamOutbox): void {
    this.#outboxes.add(outbox);
    this.#deps.metrics.set('syncline_fair_streams', this.#outboxes.size, this.#labels);
  }

  leave(outbox: StreamOutbox): void {
    if (!this.#outboxes.delete(outbox)) return;
    this.#acks.forget(outbox);
    this.#deps.pace.forget(outbox);
    outbox.forgetAll();
    this.#deps.metrics.set('syncline_fair_streams', this.#outboxes.size, this.#labels);
    this.#measureBehind();
  }

  close(): void {
    this.#roundTimer?.cancel();
    this.#pages.close();
    this.#mirrors.clear();
    this.measureStore();
  }

  /** Applies a change that the store has made. */
  feed({ seed, cells }: Applied, receivedAtMs?: number): void {
    const mirror = this.mirrorOf(seed);
    this.#changesCount += 1;
    mirror.feed(cells, this.#deps.clock.monotonicMs(), this.#changesCount);
    if (receivedAtMs !== undefined) this.#receivedAtMs.push(receivedAtMs);
    if (mirror.dirty.count > 0) this.#schedule();
  }

  /** The change is in the mirror, or was dropped. Acknowledged with the values that include it. */
  acknowledge(outbox: StreamOutbox, seed: bigint, seq: number): void {
    if (outbox.isEnded) return;
    this.#acks.hold({ outbox, seed, seq, change: this.#changesCount });
    this.#schedule();
  }

  releaseAcks(outbox: StreamOutbox, seed: bigint): void {
    this.#acks.releaseFor(outbox, seed);
  }

  mayList(outbox: StreamOutbox): boolean {
    const { pace } = this.#deps;
    if (pace.isOpen) return true;
    outbox.hold();
    pace.wait(outbox, () => {
      outbox.release();
      this.#catchUp(outbox);
      this.#measureBehind();
    });
    return false;
  }

  listed(bytes: number): void {
    this.#deps.pace.spend(bytes);
  }

  pageOf(mirror: SeedMirror, from: number, times: StoreTimes): SnapshotPage {
    return this.#pages.pageOf(mirror, from, times);
  }

  sendState(outbox: StreamOutbox, seed: bigint): void {
    const nowMs = this.#deps.clock.monotonicMs();
    if (this.epoch !== 0 && this.#options.isLive(seed)) {
      const askedAtMs = outbox.askedAtMs.get(seed) ?? Number.NEGATIVE_INFINITY;
      if (nowMs - askedAtMs < SHARED_ANSWER_MS) return;
      outbox.askedAtMs.set(seed, nowMs);
    }
    if (outbox.snapshots.some((owed) => owed.seed === seed && owed.nextSlot === 0)) return;
    const { value: owedMax } = fairLimits.defaultSeedsMax;
    if (outbox.snapshots.length >= owedMax) {
      const text = `this stream requested the state of more than ${owedMax} seeds without reading the replies`;
      throw new SynclineError('limit-exceeded', text, { details: { limit: 'defaultSeedsMax' } });
    }
    outbox.snapshots.push({ seed, nextSlot: 0 });
    this.#catchUp(outbox);
  }

  welcome(outbox: StreamOutbox, message: Uint8Array): void {
    outbox.welcome = message;
    outbox.instancesSent = this.activeInstances;
    this.#catchUp(outbox);
  }

  /** Sends the number of instances and the epoch. */
  announce(outbox: StreamOutbox): void {
    outbox.owesInstances = true;
    this.#catchUp(outbox);
  }

  announceToAll(): void {
    for (const outbox of this.#outboxes)
      if (outbox.instancesSent !== this.activeInstances) this.announce(outbox);
  }

  drained(outbox: StreamOutbox): void {
    outbox.drained();
    this.#catchUp(outbox);
    this.#measureBehind();
  }

  mirrorOf(seed: bigint): SeedMirror {
    const known = this.#mirrors.get(seed);
    if (known !== undefined) return known;
    const { namespace, broadcastBudgetCells } = this.#options;
    const nowMs = this.#deps.clock.monotonicMs();
    const mirror = new SeedMirror(namespace, seed, { nowMs, hasBudget: broadcastBudgetCells > 0 });
    this.#mirrors.set(seed, mirror);
    return mirror;
  }

  /** The seed is gone from the store. */
  drop(seed: bigint): void {
    this.#mirrors.delete(seed);
    for (const outbox of this.#outboxes) outbox.forgetSeed(seed);
    this.measureStore();
  }

  #schedule(): void {
    if (this.#roundTimer !== undefined) return;
    const { broadcastIntervalMs } = this.#options;
    const run = () => this.#run();
    const { clock } = this.#deps;
    this.#roundTimer =
      broadcastIntervalMs === 0
        ? clock.defer(run)
        : clock.setTimer(broadcastIntervalMs, run, { unref: true });
  }

  #run(): void {
    this.#roundTimer = undefined;
    const { broadcastBudgetCells, isLive } = this.#options;
    const times = this.#times();
    const dirty = [...this.#mirrors.values()].filter((mirror) => mirror.dirty.count > 0);
    const live = dirty.filter((mirror) => isLive(mirror.seed));
    for (const mirror of dirty) if (!live.includes(mirror)) mirror.takeDirty().clear();
    const { parts, oldestLeft } = takeParts(live, broadcastBudgetCells, this.#deps.random);
    this.#acks.releaseBefore(oldestLeft);
    const round = encodeRound(parts, this.epoch, times);
    const delivered: Delivered = { bytesCount: 0, coalescedCount: 0 };
    for (const outbox of this.#outboxes) deliverRound(round, outbox, this.epoch, delivered);
    for (const { sent } of parts) sent.clear();
    this.#measureRound(round.cellsCount, delivered);
    if (oldestLeft !== Number.POSITIVE_INFINITY) this.#schedule();
  }

  #catchUp(outbox: StreamOutbox): void {
    const delivered: Delivered = { bytesCount: 0, coalescedCount: 0 };
    catchUp(this, outbox, this.#times(), delivered);
    this.#count('syncline_fair_broadcast_bytes_total', delivered.bytesCount);
    if (outbox.isBehind) this.#measureBehind();
  }

  #times(): StoreTimes {
    const { clock } = this.#deps;
    return { monotonicMs: clock.monotonicMs(), wallMs: clock.nowMs() };
  }

  #measureRound(cellsCount: number, { bytesCount, coalescedCount }: Delivered): void {
    const { clock, metrics } = this.#deps;
    const nowMs = clock.monotonicMs();
    const receivedAtMs = this.#receivedAtMs;
    this.#receivedAtMs = [];
    for (const atMs of receivedAtMs)
      metrics.observe('syncline_fair_aggregation_seconds', (nowMs - atMs) / 1000, this.#labels);
    this.measureStore();
    this.#count('syncline_fair_broadcast_rounds_total', 1);
    this.#count('syncline_fair_broadcast_cells_total', cellsCount);
    this.#count('syncline_fair_broadcast_bytes_total', bytesCount);
    this.#count('syncline_fair_coalesced_cells_total', coalescedCount);
    this.#measureBehind();
  }

  /** Sets the gauges of the store's size; due whenever seeds were loaded, changed or dropped. */
  measureStore(): void {
    const { metrics } = this.#deps;
    let cellsHeld = 0;
    for (const mirror of this.#mirrors.values()) cellsHeld += mirror.cellsCount;
    metrics.set('syncline_fair_cells', cellsHeld, this.#labels);
    metrics.set('syncline_fair_seeds', this.#mirrors.size, this.#labels);
  }

  #measureBehind(): void {
    this.#deps.metrics.set('syncline_fair_streams_behind', this.behindCount, this.#labels);
  }

  #count(name: FairMetricName, amount: number): void {
    if (amount > 0) this.#deps.metrics.add(name, amount, this.#labels);
  }
}

// Acknowledgements that wait for the round, or the snapshot, whose values include their changes. For a client
// each one covers everything sent before, so those of a stream are sent in order.

interface HeldAck {
  readonly outbox: StreamOutbox;
  readonly seed: bigint;
  readonly seq: number;
  /** The last change that must go out before it. */
  readonly change: number;
}

class HeldAcks {
  #held: HeldAck[] = [];

  hold(ack: HeldAck): void {
    this.#held.push(ack);
  }

  /** Releases those whose changes all came before this one. */
  releaseBefore(change: number): void {
    const held = this.#held;
    this.#held = [];
    for (const ack of held) {
      if (ack.change < change) ack.outbox.oweAck(ack.seq);
      else this.#held.push(ack);
    }
  }

  /** A snapshot includes all changes of its seed; a stream with other pending changes must wait for those. */
  releaseFor(outbox: StreamOutbox, seed: bigint): void {
    const own = this.#held.filter((ack) => ack.outbox === outbox);
    if (own.some((ack) => ack.seed !== seed)) return;
    for (const { seq } of own) outbox.oweAck(seq);
    this.#held = this.#held.filter((ack) => ack.outbox !== outbox);
  }

  forget(outbox: StreamOutbox): void {
    if (this.#held.length > 0) this.#held = this.#held.filter((ack) => ack.outbox !== outbox);
  }
}

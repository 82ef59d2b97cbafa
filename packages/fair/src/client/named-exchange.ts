// The exchange of a named tracker: hello, Welcome, views or the round in flight, snapshots, then rounds
// and their acknowledgements.
//
// Our own outcomes are in the view immediately and at the service later. So a value from the service is never
// used as is: the folds that it cannot include yet are applied to it.
//
// F5  A round is only resent under the same sequence numbers and within its epoch.
import type { Clock } from '@syncline/kernel';
import { fairLimits } from '../limits.js';
import type { Hello, SyncResponse, Welcome } from '../wire/sync-messages.js';
import type { ClientMetrics } from './client-status.js';
import {
  type Exchange,
  type ExchangeEvent,
  eachCell,
  rebase,
  revert,
  type SendRequest,
  SnapshotIntake,
  uploadView,
} from './exchange.js';
import { OutgoingRound } from './outgoing-round.js';
import {
  hasUnsent,
  type SharedStructure,
  type SharedView,
  structureOf,
  structuresOf,
} from './shared-view.js';

const ELEMENTS_MAX: number = fairLimits.elementsPerMessageMax.value;

export interface ExchangeDeps {
  readonly view: SharedView;
  readonly clock: Clock;
  readonly metrics: ClientMetrics;
}

export class NamedExchange implements Exchange {
  readonly #deps: ExchangeDeps;
  readonly #greeting: Omit<Hello, 'lastEpoch'>;
  readonly #round: OutgoingRound;
  /** Seeds requested on this stream, and whether their snapshot is complete. */
  readonly #asked = new Map<number, 'asked' | 'answered'>();
  readonly #intakes = new Map<number, SnapshotIntake>();
  /** Of the current stream; 0 before Welcome. */
  #epoch = 0;
  /** The epoch of the state that the view is based on; 0 for none. */
  #heldEpoch = 0;
  #activeInstances = 1;
  #elementsMax = ELEMENTS_MAX;
  /** Cells whose outcomes went with a view that may not have arrived: no snapshot has followed it yet. */
  #uploadedCells = 0;

  constructor(deps: ExchangeDeps, greeting: Omit<Hello, 'lastEpoch'>) {
    const { levels, columns } = deps.view;
    this.#deps = deps;
    this.#greeting = greeting;
    this.#round = new OutgoingRound(deps.view, Math.min(ELEMENTS_MAX, levels * columns));
  }

  get epoch(): number {
    return this.#heldEpoch;
  }

  get activeInstances(): number {
    return this.#activeInstances;
  }

  begin(send: SendRequest): readonly ExchangeEvent[] {
    this.#epoch = 0;
    this.#asked.clear();
    this.#intakes.clear();
    this.#deps.metrics.dropped('view', this.#uploadedCells);
    this.#uploadedCells = 0;
    send({ kind: 'hello', ...this.#greeting, lastEpoch: this.#heldEpoch });
    return [];
  }

  receive(response: SyncResponse, send: SendRequest): readonly ExchangeEvent[] {
    const { welcome, epoch, ackedSeq, activeInstances } = response;
    if (this.#epoch === 0) return isUsable(welcome) ? this.#welcomed(welcome, send) : [];
    if (epoch !== this.#epoch) return [{ kind: 'stale' }];
    if (activeInstances > 0) this.#activeInstances = activeInstances;
    const nowMs = this.#deps.view.rotate();
    const events: ExchangeEvent[] = [];
    if (this.#round.acknowledge(ackedSeq, nowMs)) {
      this.#deps.metrics.round('acked');
      events.push({ kind: 'acked' });
    }
    return response.isSnapshot
      ? [...events, ...this.#takeSnapshot(response, nowMs)]
      : [...events, ...this.#takeValues(response, nowMs)];
  }

  fetchNew(send: SendRequest): void {
    const { view } = this.#deps;
    for (const seed of this.#asked.keys()) {
      if (structureOf(view, seed)) continue;
      this.#asked.delete(seed);
      this.#intakes.delete(seed);
    }
    for (const { seed } of structuresOf(view)) {
      if (this.#asked.has(seed)) continue;
      this.#asked.set(seed, 'asked');
      send({ kind: 'state-request', seed: BigInt(seed) });
    }
  }

  flush(send: SendRequest): void {
    const { view, clock } = this.#deps;
    if (this.#round.isInFlight || !hasUnsent(view)) return;
    this.#round.take(this.#epoch, this.#elementsMax, clock.monotonicMs());
    this.#round.send(send, clock.nowMs());
  }

  rejectRound(): void {
    if (!this.#round.isInFlight) return;
    this.#deps.metrics.round('dropped');
    this.#deps.metrics.dropped('rejected', this.#round.drop());
  }

  dropAll(): number {
    if (this.#round.isInFlight) this.#deps.metrics.round('dropped');
    const count = this.#forgetPending() + this.#uploadedCells;
    this.#uploadedCells = 0;
    return count;
  }

  #forgetPending(): number {
    const { main, secondary } = this.#deps.view;
    const count = main.pending.dropAll() + secondary.pending.dropAll();
    this.#round.drop();
    return count;
  }

  #welcomed(welcome: Welcome, send: SendRequest): readonly ExchangeEvent[] {
    const { metrics, clock, view } = this.#deps;
    const nowMs = view.rotate();
    this.#epoch = welcome.epoch;
    if (welcome.activeInstances > 0) this.#activeInstances = welcome.activeInstances;
    this.#elementsMax = Math.min(ELEMENTS_MAX, Math.max(1, welcome.maxElements || ELEMENTS_MAX));
    if (this.#heldEpoch !== 0 && this.#heldEpoch !== welcome.epoch) metrics.epochChange();
    const isKnownRound = this.#round.isInFlight && this.#round.epoch === welcome.epoch;
    if (welcome.wantView && this.#heldEpoch === welcome.epoch)
      this.#uploadWithoutPending(nowMs, send);
    else if (welcome.wantView) this.#uploadAll(nowMs, send);
    if (isKnownRound) {
      metrics.round('resent');
      for (const { pending } of structuresOf(view)) pending.forgetServerTimes();
      this.#round.send(send, clock.nowMs());
    } else if (!welcome.wantView) {
      this.rejectRound();
    }
    this.fetchNew(send);
    return [{ kind: 'welcomed', welcome }];
  }

  /**
   * Our view without what is pending: the service knows our sequence numbers, so pending outcomes are sent in
   * rounds, and a lost upload loses none of them. Cells in flight are left out, since our view may include them
   * twice.
   */
  #uploadWithoutPending(nowMs: number, send: SendRequest): void {
    this.#upload(send, (structure, cell) => {
      const { inFlight, unsent } = structure.pending;
      if (inFlight.has(cell)) return 0;
      if (unsent.has(cell)) return revert(structure, cell, nowMs) ?? 0;
      return structure.probabilityAt(cell, nowMs);
    });
  }

  /** Our view including what was pending: in another epoch a round must not be resent. */
  #uploadAll(nowMs: number, send: SendRequest): void {
    const round = this.#round;
    this.#upload(send, (structure, cell) => round.probabilityOnce(structure, cell, nowMs));
    if (this.#round.isInFlight) this.#deps.metrics.round('uploaded');
    this.#uploadedCells = this.#forgetPending();
  }

  #upload(
    send: SendRequest,
    probabilityIn: (structure: SharedStructure, cell: number) => number,
  ): void {
    const { clock, view } = this.#deps;
    const upload = { wallMs: clock.nowMs(), elementsMax: this.#elementsMax };
    for (const structure of structuresOf(view)) {
      const probabilityOf = (cell: number) => probabilityIn(structure, cell);
      uploadView(view, structure, { ...upload, probabilityOf }, send);
    }
  }

  #takeValues({ seed, cells }: SyncResponse, nowMs: number): readonly ExchangeEvent[] {
    const { view } = this.#deps;
    const structure = structureOf(view, Number(seed));
    if (structure) {
      eachCell(view, cells, (cell, probability) => rebase(structure, cell, probability, nowMs));
    }
    return [];
  }

  #takeSnapshot(response: SyncResponse, nowMs: number): readonly ExchangeEvent[] {
    const { view } = this.#deps;
    const seed = Number(response.seed);
    const structure = structureOf(view, seed);
    if (structure === undefined) return [];
    const intake =
      this.#intakes.get(seed) ?? new SnapshotIntake(structure, view.levels * view.columns);
    this.#intakes.set(seed, intake);
    eachCell(view, response.cells, (cell, probability) => intake.take(cell, probability, nowMs));
    if (!response.snapshotEnd) return [];
    intake.finish(nowMs);
    this.#intakes.delete(seed);
    this.#asked.set(seed, 'answered');
    const isSynced = structuresOf(view).every((each) => this.#asked.get(each.seed) === 'answered');
    if (!isSynced) return [{ kind: 'snapshot' }];
    this.#heldEpoch = this.#epoch;
    this.#uploadedCells = 0;
    return [{ kind: 'snapshot' }, { kind: 'synced' }];
  }
}

/** Epochs are 1 to 2^53 - 1; anything else would never match what follows. */
function isUsable(welcome: Welcome | undefined): welcome is Welcome {
  return welcome !== undefined && Number.isSafeInteger(welcome.epoch) && welcome.epoch > 0;
}

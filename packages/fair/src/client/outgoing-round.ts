// The round in flight: which folds were sent under which sequence numbers. There is one at a time, so a
// client never has more in flight than its structures have cells, and a resent round is the same bytes.
//
// F5  A sequence number always stands for the same folds: a round changes only by losing parts.
import { type CellDeltas, createCellDeltas } from '../cells.js';
import { revert, type SendRequest } from './exchange.js';
import type { FoldSet } from './pending-folds.js';
import { type SharedStructure, type SharedView, structureOf, structuresOf } from './shared-view.js';

/** One DeltaUpdate: a part of a structure's list of cells in flight. */
interface RoundPart {
  readonly seed: number;
  readonly seq: number;
  readonly from: number;
  readonly to: number;
}

export class OutgoingRound {
  readonly #view: SharedView;
  readonly #deltas: CellDeltas & { count: number };
  #parts: readonly RoundPart[] = [];
  #lastSeq = 0;
  #epoch = 0;
  /** Monotonic. */
  #takenAtMs = 0;

  constructor(view: SharedView, elementsMax: number) {
    this.#view = view;
    this.#deltas = createCellDeltas(elementsMax);
  }

  get isInFlight(): boolean {
    return this.#parts.length > 0;
  }

  /** Of the state that the round was made for. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Takes everything unsent. There must be no round in flight. */
  take(epoch: number, elementsMax: number, nowMs: number): void {
    this.#epoch = epoch;
    this.#takenAtMs = nowMs;
    this.#parts = structuresOf(this.#view).flatMap((structure) => {
      const { seed, pending } = structure;
      const { cells, count } = pending.take();
      for (let index = 0; index < count; index += 1) {
        const cell = cells[index] ?? 0;
        pending.ownProbabilities[cell] = structure.probabilityAt(cell, nowMs);
      }
      return Array.from({ length: Math.ceil(count / elementsMax) }, (_, index): RoundPart => {
        this.#lastSeq += 1;
        const from = index * elementsMax;
        return { seed, seq: this.#lastSeq, from, to: Math.min(count, from + elementsMax) };
      });
    });
  }

  /** Sends or resends it, without parts that have rotated away since. */
  send(send: SendRequest, wallMs: number): void {
    this.#parts = this.#parts.filter((part) => this.#structureOf(part) !== undefined);
    for (const part of this.#parts) {
      const folds = this.#structureOf(part)?.pending.inFlight;
      if (folds === undefined) continue;
      const deltas = this.#write(folds, part);
      deltas.timesMs.fill(wallMs, 0, deltas.count);
      const { seed, seq } = part;
      send({ kind: 'delta-update', seed: BigInt(seed), deltas, seq, epoch: this.#epoch });
    }
  }

  /** Forgets the folds up to a sequence number. Returns whether that ended the round. */
  acknowledge(ackedSeq: number, nowMs: number): boolean {
    if (!this.isInFlight) return false;
    const acked = this.#parts.filter((part) => part.seq <= ackedSeq);
    this.#parts = this.#parts.filter((part) => part.seq > ackedSeq);
    for (const part of acked) this.#settle(part, nowMs);
    if (!this.isInFlight) this.#clear();
    return !this.isInFlight;
  }

  /**
   * A cell's value for a view in another epoch, where the round is not resent: it counts once. Whether the service's
   * latest value includes it is unknown, so the larger of that value and our own is used.
   */
  probabilityOnce(structure: SharedStructure, cell: number, nowMs: number): number {
    const { inFlight, unsent, ownProbabilities } = structure.pending;
    const mayCountTwice =
      inFlight.has(cell) && !Number.isNaN(structure.pending.serverTimeMsOf(cell));
    if (mayCountTwice) {
      structure.overwrite(cell, ownProbabilities[cell] ?? 0, this.#takenAtMs);
      const own = structure.probabilityAt(cell, nowMs);
      const served = revert(structure, cell, nowMs) ?? 0;
      if (own > served) structure.overwrite(cell, unsent.applied(cell, own), nowMs);
    }
    return structure.probabilityAt(cell, nowMs);
  }

  /** Drops the round. Returns how many folds it still had. */
  drop(): number {
    const kept = this.#parts.filter((part) => this.#structureOf(part) !== undefined);
    this.#parts = [];
    this.#clear();
    return kept.reduce((sum, { from, to }) => sum + to - from, 0);
  }

  /** The service's latest values of these cells, if any arrived since, now include the folds. */
  #settle(part: RoundPart, nowMs: number): void {
    const structure = this.#structureOf(part);
    if (structure === undefined) return;
    const { inFlight } = structure.pending;
    inFlight.drop(part.from, part.to);
    for (let index = part.from; index < part.to; index += 1) {
      revert(structure, inFlight.cells[index] ?? 0, nowMs);
    }
  }

  #write(folds: FoldSet, { from, to }: RoundPart): CellDeltas & { count: number } {
    const { columns } = this.#view;
    const deltas = this.#deltas;
    deltas.count = to - from;
    for (let index = 0; index < deltas.count; index += 1) {
      const cell = folds.cells[from + index] ?? 0;
      deltas.rows[index] = Math.floor(cell / columns);
      deltas.columns[index] = cell % columns;
      folds.write(cell, deltas, index);
    }
    return deltas;
  }

  /** Undefined if the structure, and with it these folds, has rotated away since. */
  #structureOf({ seed, to }: RoundPart): SharedStructure | undefined {
    const structure = structureOf(this.#view, seed);
    return structure && structure.pending.inFlight.count >= to ? structure : undefined;
  }

  #clear(): void {
    for (const { pending } of structuresOf(this.#view)) pending.inFlight.clear();
  }
}

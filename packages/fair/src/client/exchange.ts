// The messages on a stream and their effect on the view: the rules of sharing, without streams, timers or
// states, which belong to StateClient. There are two: NamedExchange for our own contract, and SeedExchange for
// servers that only know the plain one.

import { type Cells, createCells } from '../cells.js';
import type { SyncRequest, SyncResponse, Welcome } from '../wire/sync-messages.js';
import { cellAt, type SharedStructure, type SharedView } from './shared-view.js';

/** Processes the request immediately; its columns are reused. */
export type SendRequest = (request: SyncRequest) => void;

export type ExchangeEvent =
  | { readonly kind: 'welcomed'; readonly welcome: Welcome | undefined }
  /** The whole round in flight was acknowledged. */
  | { readonly kind: 'acked' }
  /** The last message of a snapshot has arrived. */
  | { readonly kind: 'snapshot' }
  /** Both structures have received their snapshots on this stream. */
  | { readonly kind: 'synced' }
  | { readonly kind: 'stale' };

export interface Exchange {
  /** The epoch of the state that the view is based on; 0 for none. */
  readonly epoch: number;
  /** Instances that share the state, including this one; 1 if unknown. */
  readonly activeInstances: number;
  /** Sends the first message of a new stream. */
  begin(send: SendRequest): readonly ExchangeEvent[];
  receive(response: SyncResponse, send: SendRequest): readonly ExchangeEvent[];
  /** Requests the structures that were not requested on this stream. */
  fetchNew(send: SendRequest): void;
  /** Sends pending outcomes, if a round may begin. */
  flush(send: SendRequest): void;
  /** The service will never accept the round in flight. */
  rejectRound(): void;
  /** Drops everything pending. Returns the number of cells. */
  dropAll(): number;
}

// Applies values from the service. A snapshot may arrive in several messages; cells that none of them lists are
// 0. No other message of its seed arrives in between.
//
// F3  Every probability stored is in [0, 1], whatever arrives: a cell that the structure does not have, or a
// value that is not a probability, is ignored.

/** Calls back for each value that can be used. */
export function eachCell(
  view: SharedView,
  cells: Cells,
  visit: (cell: number, probability: number) => void,
): void {
  for (let index = 0; index < cells.count; index += 1) {
    const cell = cellAt(view, cells.rows[index] ?? -1, cells.columns[index] ?? -1);
    const probability = cells.probabilities[index] ?? Number.NaN;
    if (cell >= 0 && probability >= 0 && probability <= 1) visit(cell, probability);
  }
}

/** Applies our own outcomes, which the service may not have yet, to its value. */
export function rebase(
  structure: SharedStructure,
  cell: number,
  probability: number,
  nowMs: number,
): void {
  structure.overwrite(cell, structure.pending.rebase(cell, probability, nowMs), nowMs);
}

/**
 * Resets a cell to the service's latest value, decayed, plus unsent outcomes. Returns it without those;
 * undefined if no value arrived since the cell's round was taken.
 */
export function revert(
  structure: SharedStructure,
  cell: number,
  nowMs: number,
): number | undefined {
  const { pending } = structure;
  const serverTimeMs = pending.serverTimeMsOf(cell);
  if (Number.isNaN(serverTimeMs)) return undefined;
  structure.overwrite(cell, pending.serverProbability(cell), serverTimeMs);
  const probability = structure.probabilityAt(cell, nowMs);
  structure.overwrite(cell, pending.unsent.applied(cell, probability), nowMs);
  return probability;
}

export class SnapshotIntake {
  readonly #structure: SharedStructure;
  readonly #isListed: Uint8Array;

  constructor(structure: SharedStructure, cellsCount: number) {
    this.#structure = structure;
    this.#isListed = new Uint8Array(cellsCount);
  }

  take(cell: number, probability: number, nowMs: number): void {
    this.#isListed[cell] = 1;
    rebase(this.#structure, cell, probability, nowMs);
  }

  /** The last message has arrived. */
  finish(nowMs: number): void {
    this.#isListed.forEach((listed, cell) => {
      if (listed === 0) rebase(this.#structure, cell, 0, nowMs);
    });
  }
}

// Our view of a structure, for a service that has lost it. Cells below 10^-6 are left out, as in snapshots:
// they make no difference to decisions.

const PROBABILITY_MIN = 1e-6;

export interface ViewUploadOptions {
  readonly wallMs: number;
  readonly elementsMax: number;
  /** The value to upload for a cell. */
  probabilityOf(cell: number): number;
}

export function uploadView(
  view: SharedView,
  structure: SharedStructure,
  { wallMs, elementsMax, probabilityOf }: ViewUploadOptions,
  send: SendRequest,
): void {
  const { levels, columns } = view;
  const cells = createCells(Math.min(elementsMax, levels * columns));
  cells.timesMs.fill(wallMs);
  const sendChunk = () => {
    if (cells.count > 0) send({ kind: 'view-upload', seed: BigInt(structure.seed), cells });
    cells.count = 0;
  };
  for (let cell = 0; cell < levels * columns; cell += 1) {
    const probability = probabilityOf(cell);
    if (probability < PROBABILITY_MIN) continue;
    cells.rows[cells.count] = Math.floor(cell / columns);
    cells.columns[cells.count] = cell % columns;
    cells.probabilities[cells.count] = probability;
    cells.count += 1;
    if (cells.count === elementsMax) sendChunk();
  }
  sendChunk();
}

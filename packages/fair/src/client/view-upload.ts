// Our view of a structure, for a service that has lost it. Cells below 10^-6 are left out, as in snapshots:
// they make no difference to decisions.
import { createCells } from '../cells.js';
import type { SendRequest } from './exchange.js';
import type { SharedStructure, SharedView } from './shared-view.js';

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

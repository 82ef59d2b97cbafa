// The lists of the contract, which are nearly all of its bytes: deltas and buckets, between columns of
// numbers and bytes. One element costs no object, whichever way it goes.
//
// Elements are counted before there is room for them, so a message with too many costs no memory; the
// columns of the others grow with what was read.
import { SynclineError } from '@syncline/kernel';
import type { WireReader, WireWriter } from '@syncline/kernel/wire';
import {
  type CellColumns,
  type CellDeltas,
  type Cells,
  copyColumns,
  createCellDeltas,
  createCells,
  type DeltaColumns,
} from '../cells.js';

const elementBytesGuess = 32; // usual ones have 20 to 45

/** Counts the elements of all lists of a message, and refuses what is above the limit. */
export class ElementCount {
  readonly #max: number;
  #count = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Call it at each element, before there is room for it. */
  add(list: string): void {
    this.#count += 1;
    if (this.#count <= this.#max) return;
    throw new SynclineError(
      'invalid-argument',
      `${list} has ${this.#count} elements or more; at most ${this.#max} are allowed. Split the message`,
      { details: { field: list, count: this.#count, limit: this.#max } },
    );
  }

  /** How many more elements of the current list to allocate for at first. */
  guess({ position, end }: WireReader): number {
    return Math.min(this.#max, Math.ceil((end - position) / elementBytesGuess) + 1);
  }
}

/** Where reading begins. Full, so that it is never written to. */
export const noDeltas: DeltaColumns = createCellDeltas(0);

/** Reads one element and returns the columns that hold it: new ones when these were full. */
export function readDelta(
  reader: WireReader,
  columns: DeltaColumns,
  elements: ElementCount,
): DeltaColumns {
  elements.add('deltas');
  const index = columns.count;
  const isFull = index === columns.rows.length;
  const deltas = isFull ? grown(columns, createCellDeltas, elements.guess(reader)) : columns;
  deltas.count = index + 1;
  deltas.highs[index] = 1;
  const outerEnd = reader.enter();
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    switch (field) {
      case 1:
        deltas.rows[index] = reader.uintOrInfinity();
        break;
      case 2:
        deltas.columns[index] = reader.uintOrInfinity();
        break;
      case 3:
        deltas.amounts[index] = reader.double();
        break;
      case 4:
        deltas.timesMs[index] = reader.uintOrInfinity();
        break;
      case 5:
        deltas.lows[index] = reader.double();
        break;
      case 6:
        deltas.highs[index] = reader.double();
        break;
      default:
        reader.skip();
    }
  }
  reader.leave(outerEnd);
  return deltas;
}

/** As `readDelta`. */
export function readBucket(
  reader: WireReader,
  columns: CellColumns,
  elements: ElementCount,
): CellColumns {
  elements.add('buckets');
  const index = columns.count;
  const isFull = index === columns.rows.length;
  const cells = isFull ? grown(columns, createCells, elements.guess(reader)) : columns;
  cells.count = index + 1;
  const outerEnd = reader.enter();
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    switch (field) {
      case 1:
        cells.rows[index] = reader.uintOrInfinity();
        break;
      case 2:
        cells.columns[index] = reader.uintOrInfinity();
        break;
      case 3:
        cells.probabilities[index] = reader.double();
        break;
      case 4:
        cells.timesMs[index] = reader.uintOrInfinity();
        break;
      default:
        reader.skip();
    }
  }
  reader.leave(outerEnd);
  return cells;
}

export function writeDeltas(writer: WireWriter, field: number, deltas: CellDeltas): void {
  const { rows, columns, amounts, timesMs, lows, highs } = deltas;
  for (let index = 0; index < deltas.count; index += 1) {
    const start = writer.begin(field);
    writer.uint(1, rows[index] as number);
    writer.uint(2, columns[index] as number);
    writer.double(3, amounts[index] as number);
    writer.uint(4, timesMs[index] as number);
    const low = lows[index] as number;
    const high = highs[index] as number;
    if (!Object.is(low, 0)) writer.presentDouble(5, low);
    if (high !== 1) writer.presentDouble(6, high);
    writer.end(start);
  }
}

/** Writes the cells from `from` up to, and without, `to`. */
export function writeBuckets(writer: WireWriter, cells: Cells, from: number, to: number): void {
  const { rows, columns, probabilities, timesMs } = cells;
  for (let index = from; index < to; index += 1) {
    const start = writer.begin(2); // in each message that has buckets
    writer.uint(1, rows[index] as number);
    writer.uint(2, columns[index] as number);
    writer.double(3, probabilities[index] as number);
    writer.uint(4, timesMs[index] as number);
    writer.end(start);
  }
}

function grown<Columns extends CellColumns | DeltaColumns>(
  full: Columns,
  create: (capacity: number) => Columns,
  more: number,
): Columns {
  const larger = create(full.count + Math.max(full.count, more));
  copyColumns(full, larger);
  return larger;
}

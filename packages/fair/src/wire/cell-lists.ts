// The lists of the contract, which are nearly all of its bytes: deltas and buckets, between columns of
// numbers and bytes. One element costs no object, whichever way it goes.
//
// Elements are counted before there is room for them, so a message with too many costs no memory; the
// columns of the others grow with what was read.
import { type CellDeltas, type Cells, createCellDeltas, createCells } from '../cells.js';
import type { WireReader } from './wire-reader.js';
import { doubleFieldBytesMax, integerFieldBytesMax, type WireWriter } from './wire-writer.js';

export type DeltaColumns = CellDeltas & { count: number };
export type CellColumns = Cells & { count: number };

/** Where a list lies: the end of the message that holds it, and how deep its elements are nested. */
export interface ListPlace {
  readonly end: number;
  readonly depth: number;
}

const headBytes = 2; // tag and length: an element has less than 128 bytes
const deltaBytesMax = headBytes + 3 * integerFieldBytesMax + 3 * doubleFieldBytesMax;
const bucketBytesMax = headBytes + 3 * integerFieldBytesMax + doubleFieldBytesMax;

/** Where reading begins. Full, so that it is never written to. */
export const noDeltas: DeltaColumns = createCellDeltas(0);
export const noCells: CellColumns = createCells(0);

/** Reads one element and returns the columns that hold it: new ones when these were full. */
export function readDelta(
  reader: WireReader,
  columns: DeltaColumns,
  place: ListPlace,
): DeltaColumns {
  reader.countElement('deltas');
  const index = columns.count;
  const isFull = index === columns.rows.length;
  const deltas = isFull ? grownDeltas(columns, reader.elementsGuess(place.end)) : columns;
  deltas.count = index + 1;
  deltas.highs[index] = 1;
  const end = reader.nestedEnd();
  while (reader.position < end) {
    switch (reader.field()) {
      case 1:
        deltas.rows[index] = reader.integer();
        break;
      case 2:
        deltas.columns[index] = reader.integer();
        break;
      case 3:
        deltas.amounts[index] = reader.double();
        break;
      case 4:
        deltas.timesMs[index] = reader.integer();
        break;
      case 5:
        deltas.lows[index] = reader.double();
        break;
      case 6:
        deltas.highs[index] = reader.double();
        break;
      default:
        reader.skip(place.depth);
    }
  }
  return deltas;
}

/** As `readDelta`. */
export function readBucket(
  reader: WireReader,
  columns: CellColumns,
  place: ListPlace,
): CellColumns {
  reader.countElement('buckets');
  const index = columns.count;
  const isFull = index === columns.rows.length;
  const cells = isFull ? grownCells(columns, reader.elementsGuess(place.end)) : columns;
  cells.count = index + 1;
  const end = reader.nestedEnd();
  while (reader.position < end) {
    switch (reader.field()) {
      case 1:
        cells.rows[index] = reader.integer();
        break;
      case 2:
        cells.columns[index] = reader.integer();
        break;
      case 3:
        cells.probabilities[index] = reader.double();
        break;
      case 4:
        cells.timesMs[index] = reader.integer();
        break;
      default:
        reader.skip(place.depth);
    }
  }
  return cells;
}

export function writeDeltas(writer: WireWriter, field: number, deltas: CellDeltas): void {
  const { rows, columns, amounts, timesMs, lows, highs } = deltas;
  for (let index = 0; index < deltas.count; index += 1) {
    writer.reserve(deltaBytesMax);
    const start = writer.beginShort(field);
    writer.integer(1, rows[index] as number);
    writer.integer(2, columns[index] as number);
    writer.double(3, amounts[index] as number);
    writer.integer(4, timesMs[index] as number);
    const low = lows[index] as number;
    const high = highs[index] as number;
    if (!Object.is(low, 0)) writer.presentDouble(5, low);
    if (high !== 1) writer.presentDouble(6, high);
    writer.endShort(start);
  }
}

/** Writes the cells from `from` up to, and without, `to`. */
export function writeBuckets(writer: WireWriter, cells: Cells, from: number, to: number): void {
  const { rows, columns, probabilities, timesMs } = cells;
  for (let index = from; index < to; index += 1) {
    writer.reserve(bucketBytesMax);
    const start = writer.beginShort(2); // in each message that has buckets
    writer.integer(1, rows[index] as number);
    writer.integer(2, columns[index] as number);
    writer.double(3, probabilities[index] as number);
    writer.integer(4, timesMs[index] as number);
    writer.endShort(start);
  }
}

function grownDeltas(full: DeltaColumns, more: number): DeltaColumns {
  const grown = createCellDeltas(full.count + Math.max(full.count, more));
  grown.rows.set(full.rows);
  grown.columns.set(full.columns);
  grown.amounts.set(full.amounts);
  grown.timesMs.set(full.timesMs);
  grown.lows.set(full.lows);
  grown.highs.set(full.highs);
  return grown;
}

function grownCells(full: CellColumns, more: number): CellColumns {
  const grown = createCells(full.count + Math.max(full.count, more));
  grown.rows.set(full.rows);
  grown.columns.set(full.columns);
  grown.probabilities.set(full.probabilities);
  grown.timesMs.set(full.timesMs);
  return grown;
}

// Lists of cells by their numbers: level by level, as the structures lay them out. Two bytes are enough for
// most structures, and a tracker holds a list of them for each key that it remembers.

export type CellNumbers = Uint16Array | Uint32Array;

const NUMBERS_OF_TWO_BYTES = 0x1_0000;

/** A list of `length` numbers below `cellsCount`. */
export function createCellNumbers(length: number, cellsCount: number): CellNumbers {
  return cellsCount <= NUMBERS_OF_TWO_BYTES ? new Uint16Array(length) : new Uint32Array(length);
}

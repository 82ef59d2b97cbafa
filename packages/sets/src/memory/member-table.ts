// The elements of one set in memory: an index from a member's position and bytes to its row.
import type { Random } from '@syncline/kernel';
import type { ByteList } from '../byte-list.js';
import type { ElementHeap } from './element-heap.js';
import type { PositionWords } from './order-hash.js';

export type VisitRow = (row: number) => void;

export class MemberTable {
  readonly heap: ElementHeap;

  constructor(heap: ElementHeap) {
    this.heap = heap;
  }

  /** Rows. */
  get size(): number {
    throw new Error('not there yet');
  }

  /** Bytes of the rows and of the index. */
  get bytes(): number {
    throw new Error('not there yet');
  }

  /** The row of a member; 0 when there is none. */
  find(hash: PositionWords, list: ByteList, index: number): number {
    return this.findBytes(hash, list.view, list.start(index), list.end(index));
  }

  findBytes(_hash: PositionWords, _view: DataView, _start: number, _end: number): number {
    throw new Error('not there yet');
  }

  /** Copies a member that is not in the table into a new row whose other words are 0. */
  insert(hash: PositionWords, list: ByteList, index: number): number {
    return this.insertBytes(hash, list.view, list.start(index), list.end(index));
  }

  insertBytes(_hash: PositionWords, _view: DataView, _start: number, _end: number): number {
    throw new Error('not there yet');
  }

  /** Takes a row out and frees it. */
  delete(_row: number): void {
    throw new Error('not there yet');
  }

  /** Every row once, in no order. The table must not change meanwhile. */
  forEach(_visit: VisitRow): void {
    throw new Error('not there yet');
  }

  /**
   * Rows by position, then by the bytes of the member, from a position on: at least `count`, if there are as
   * many; equal positions are never parted. Gives the position to go on from, 0 at the end.
   */
  scan(_position: number, _count: number, _visit: VisitRow): number {
    throw new Error('not there yet');
  }

  /** Exactly uniform over all rows. The table must not be empty. */
  randomRow(_random: Random): number {
    throw new Error('not there yet');
  }

  /** Frees all rows. */
  clear(): void {
    throw new Error('not there yet');
  }
}

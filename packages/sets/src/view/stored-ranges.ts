// Ranges of stored elements and sets by their positions, which are numbers of 48 bits.
import type { RangeOptions } from '@syncline/kernel';
import { elementRange, KeyKind, kindRange, type Position, setKey } from '../state/storage-keys.js';

/** One more than the highest position. */
export const POSITIONS_END = 2 ** 48;

/** Elements of a set from one position up to another. */
export function elementsBetween(set: Uint8Array, from: number, to = POSITIONS_END): RangeOptions {
  const range = elementRange(set, splitPosition(from));
  const end = to === POSITIONS_END ? range.to : elementRange(set, splitPosition(to)).from;
  return { from: range.from, to: end };
}

/** Names of sets from one position up to another. */
export function setsBetween(from: number, to = POSITIONS_END): RangeOptions {
  const none = new Uint8Array(0);
  const end = to === POSITIONS_END ? kindRange(KeyKind.set).to : setKey(none, splitPosition(to));
  return { from: setKey(none, splitPosition(from)), to: end };
}

export function splitPosition(position: number): Position {
  return { high: Math.floor(position / 0x1_0000), low: position % 0x1_0000 };
}

// The position of a member or of the name of a set in every scan: 48 bits of a keyed hash.
//
// HalfSipHash yields 8 bytes, written as two little-endian words. The position is the first six of them
// read as one big-endian number, so that positions sort like their bytes. The key is derived from the name
// of the cluster, so cursors are valid on every node and after a restart. That name is not a secret: a
// client can compute positions and search for members that collide.
import { createHash } from 'node:crypto';
import { type HalfSipKey, halfSipHash13, halfSipKey } from '@syncline/kernel';
import type { RibltKey } from '@syncline/riblt';

export interface OrderKeys {
  readonly order: HalfSipKey;
  readonly riblt: RibltKey;
}

/** Both keys are derived from the name of the cluster: bytes 0 to 7 and 8 to 15 of one digest. */
export function createOrderKeys(clusterId: string): OrderKeys {
  const digest = createHash('sha256').update('syncline/sets/order/1').update(clusterId).digest();
  return { order: halfSipKey(digest), riblt: halfSipKey(digest.subarray(8)) };
}

/** A position as two words: its upper 32 bits and its lower 16. Reused by callers. */
export type PositionWords = Uint32Array;

export class OrderHash {
  readonly #key: HalfSipKey;
  /** Reused, so that a hash allocates nothing. */
  readonly #range = { start: 0, end: 0 };

  constructor(key: HalfSipKey) {
    this.#key = key;
  }

  /** Writes the position of the bytes from `start` up to `end` into `out[0]` and `out[1]`. */
  write(view: DataView, start: number, end: number, out: PositionWords): void {
    this.#range.start = start;
    this.#range.end = end;
    halfSipHash13(this.#key, view, this.#range, out);
    const first = out[0] as number;
    const second = out[1] as number;
    out[0] = (first << 24) | ((first << 8) & 0xff0000) | ((first >>> 8) & 0xff00) | (first >>> 24);
    out[1] = ((second << 8) & 0xff00) | ((second >>> 8) & 0xff);
  }
}

/** The position as one number of 48 bits. */
export function positionOf(words: PositionWords): number {
  return (words[0] as number) * 0x1_0000 + (words[1] as number);
}

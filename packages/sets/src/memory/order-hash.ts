// The position of a member or of the name of a set in every scan: 48 bits of a keyed hash.
//
// HalfSipHash yields 8 bytes, written as two little-endian words. The position is the first six of them
// read as one big-endian number, so that positions sort like their bytes. The key is derived from the name
// of the cluster, so cursors are valid on every node and after a restart. That name is not a secret: a
// client can compute positions and search for members that collide.
import { createHash } from 'node:crypto';
import { type HalfSipKey, halfSipHash13, halfSipKey } from '@syncline/kernel';
import type { RibltKey } from '@syncline/riblt';
import type { ByteList } from '../byte-list.js';

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

/**
 * Commands of a pipeline that are read ahead, and members that are looked up together. With more, the first would leave
 * the processor's cache before they are used.
 */
export const AHEAD_MAX = 16;

/** The hashes of members that are looked up soon, in this order. */
export class HashesAhead {
  /** The upper words. */
  readonly highs = new Int32Array(AHEAD_MAX);
  readonly #lows = new Int32Array(AHEAD_MAX);
  readonly #starts = new Int32Array(AHEAD_MAX);
  readonly #hash: OrderHash;
  #buffer: Uint8Array | undefined;
  #count = 0;
  #next = 0;

  constructor(hash: OrderHash) {
    this.#hash = hash;
  }

  /** Starts with the item at `from` and returns how many are hashed. `scratch` is overwritten. */
  fill(list: ByteList, from: number, scratch: PositionWords): number {
    this.#buffer = list.buffer;
    this.#count = Math.min(list.length - from, AHEAD_MAX);
    this.#next = 0;
    for (let index = 0; index < this.#count; index += 1) {
      const start = list.start(from + index);
      this.#starts[index] = start;
      this.#hash.write(list.view, start, list.end(from + index), scratch);
      this.highs[index] = scratch[0] as number;
      this.#lows[index] = scratch[1] as number;
    }
    return this.#count;
  }

  /** False when the member is not the next one. */
  take(list: ByteList, index: number, out: PositionWords): boolean {
    const next = this.#next;
    if (next >= this.#count || list.buffer !== this.#buffer) return false;
    if (list.start(index) !== this.#starts[next]) return false;
    this.#next = next + 1;
    out[0] = this.highs[next] as number;
    out[1] = this.#lows[next] as number;
    return true;
  }

  clear(): void {
    this.#count = 0;
  }
}

export function positionOf(words: PositionWords): number {
  return (words[0] as number) * 0x1_0000 + (words[1] as number);
}

// Memory that is lent out for a moment, to pass bytes to native code that copies them immediately.
//
// A small array created in JavaScript lies inside the heap of V8, and native code that requests its bytes makes V8
// move them out: more work than all the rest of a `put`. Views of one permanent buffer have no such cost, and those
// of common sizes are created once.

/** Views up to this size are kept: about 100 KiB of them. */
const KEPT_BYTES_MAX = 1_024;
const SCRATCH_BYTES = 64 * 1024;
/** Up to this size a loop is faster than a view with a native copy. */
const LOOP_BYTES_MAX = 64;

export class ScratchBytes {
  readonly #memory = new Uint8Array(SCRATCH_BYTES);
  readonly #kept: Uint8Array[] = [];

  /**
   * An array of this length with arbitrary content, which the next call lends out again. Large buffers are
   * allocated instead: the garbage collector frees the native copies, and runs in time only if it sees as much
   * memory itself.
   */
  lend(bytes: number): Uint8Array {
    if (bytes > SCRATCH_BYTES) return new Uint8Array(bytes);
    if (bytes > KEPT_BYTES_MAX) return this.#memory.subarray(0, bytes);
    while (this.#kept.length <= bytes) this.#kept.push(this.#memory.subarray(0, this.#kept.length));
    return this.#kept[bytes] as Uint8Array;
  }
}

/** Copies the bytes of `content` from `start` up to `end` to the front of `into`. */
export function copyBytes(into: Uint8Array, content: Uint8Array, start: number, end: number): void {
  if (end - start > LOOP_BYTES_MAX) {
    into.set(content.subarray(start, end));
    return;
  }
  for (let from = start, to = 0; from < end; from += 1, to += 1) into[to] = content[from] as number;
}

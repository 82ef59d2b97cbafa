// Members that a long read has already shown, as far as they fit in memory. Beyond that the caller must find out
// in another way.
import { setsLimits } from '../../limits.js';

const BYTES_MAX = setsLimits.resultBytesMax.value;
/** About what a member costs besides its bytes. */
const EXTRA_BYTES = 64;

export class RememberedMembers {
  readonly #texts = new Set<string>();
  #bytes = 0;

  get size(): number {
    return this.#texts.size;
  }

  has(member: Uint8Array): boolean {
    return this.#texts.has(textOf(member));
  }

  /** `full`: it is not among the remembered ones, and is not remembered either. */
  add(member: Uint8Array): 'added' | 'present' | 'full' {
    const text = textOf(member);
    if (this.#texts.has(text)) return 'present';
    if (this.#bytes > BYTES_MAX) return 'full';
    this.#bytes += member.length + EXTRA_BYTES;
    this.#texts.add(text);
    return 'added';
  }
}

function textOf({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('latin1');
}

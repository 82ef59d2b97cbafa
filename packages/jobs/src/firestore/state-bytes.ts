// What a state counts towards limits in bytes: a page, a buffer.
import type { State } from '../state.js';

/** Numbers, and what holds them. */
const FIXED_BYTES = 64;

/** About what it takes on the wire. */
export function stateBytes({ tag, message, eventId, payload }: State): number {
  const texts = Buffer.byteLength(tag) + Buffer.byteLength(message) + eventId.length;
  return FIXED_BYTES + texts + (payload ? Buffer.byteLength(JSON.stringify(payload)) : 0);
}

// Puts the bytes of a member into its row, and compares them with others.
//
// A row starts on a word and the last word of its member is filled with zeros, so both go word by word and
// only the end of the given bytes needs care. Words are little endian, as on every machine we run on.
// The row's own length says how many bytes there are; `at` is the word of the page where the row starts.
import type { ElementHeap } from './element-heap.js';
import {
  memberBuffer,
  memberEnd,
  memberStart,
  ROW_HEADER_WORDS,
  ROW_MEMBER_BYTES,
} from './row-layout.js';

export function writeMember(words: Int32Array, at: number, view: DataView, start: number): void {
  const length = words[at + ROW_MEMBER_BYTES] as number;
  const wholeEnd = start + length - (length & 3);
  let word = at + ROW_HEADER_WORDS;
  for (let position = start; position < wholeEnd; position += 4) {
    words[word] = view.getInt32(position, true);
    word += 1;
  }
  if (wholeEnd < start + length) words[word] = lastWord(view, wholeEnd, start + length);
}

/** The given bytes are as many as the row has. */
export function isMemberEqual(
  words: Int32Array,
  at: number,
  view: DataView,
  start: number,
): boolean {
  const length = words[at + ROW_MEMBER_BYTES] as number;
  const wholeEnd = start + length - (length & 3);
  let word = at + ROW_HEADER_WORDS;
  for (let position = start; position < wholeEnd; position += 4) {
    if (words[word] !== view.getInt32(position, true)) return false;
    word += 1;
  }
  return wholeEnd === start + length || words[word] === lastWord(view, wholeEnd, start + length);
}

/** As the storage orders keys: by unsigned bytes, shorter first. */
export function compareMembers(heap: ElementHeap, left: number, right: number): number {
  return Buffer.compare(memberOf(heap, left), memberOf(heap, right));
}

function memberOf(heap: ElementHeap, row: number): Uint8Array {
  return memberBuffer(heap, row).subarray(memberStart(row), memberEnd(heap, row));
}

/** The last 1 to 3 bytes. */
function lastWord(view: DataView, start: number, end: number): number {
  let word = view.getUint8(start);
  if (start + 1 < end) word |= view.getUint8(start + 1) << 8;
  if (start + 2 < end) word |= view.getUint8(start + 2) << 16;
  return word;
}

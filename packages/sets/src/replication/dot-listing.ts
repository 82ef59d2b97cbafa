// All dots of a set as bytes, for a difference that is too large for symbols.
//
// A chunk is a list of parts: actor, number of runs, and for each run the gap before it and its length, all as
// varints. The gap counts from the end of the previous run, or from 0 in a new part. Each chunk can be read by
// itself.
import type { ActorId } from '@syncline/kernel';
import { WireReader } from '@syncline/kernel/wire';
import type { DotSet } from './dot-set.js';

const CHUNK_BYTES = 256 * 1024;
const RUNS_PER_PART = 1_024;

/** Chunks of about 256 KiB. There is always at least one, even for an empty set. */
export function* encodeListing(dots: DotSet): Generator<Uint8Array> {
  let bytes: number[] = [];
  for (const actor of dots.actors()) {
    let runs: number[] = [];
    let count = 0;
    let end = 0;
    const flush = () => {
      if (count === 0) return;
      pushNumber(bytes, actor);
      pushNumber(bytes, count);
      for (const byte of runs) bytes.push(byte);
      runs = [];
      count = 0;
      end = 0;
    };
    for (const { from, length } of dots.runs(actor)) {
      pushNumber(runs, from - end);
      pushNumber(runs, length);
      end = from + length;
      count += 1;
      if (count < RUNS_PER_PART) continue;
      flush();
      if (bytes.length < CHUNK_BYTES) continue;
      yield Uint8Array.from(bytes);
      bytes = [];
    }
    flush();
  }
  yield Uint8Array.from(bytes);
}

/** Throws `invalid-argument` for bytes that are not a listing. */
export function decodeListing(
  bytes: Uint8Array,
  visit: (actor: ActorId, from: number, length: number) => void,
): void {
  const cursor = new WireReader('listing of dots', bytes);
  while (!cursor.isAtEnd) {
    const actor = cursor.safeInteger();
    if (actor >= 2 ** 32 || actor < 65_536) cursor.fail('a listing names no actor');
    let end = 0;
    for (let left = cursor.safeInteger(); left > 0; left -= 1) {
      const from = end + cursor.safeInteger();
      const length = cursor.safeInteger();
      end = from + length;
      if (from < 1 || length < 1 || end > Number.MAX_SAFE_INTEGER)
        cursor.fail('a run of counters is out of range');
      visit(actor as ActorId, from, length);
    }
  }
}

/** Up to 2^53 - 1. */
function pushNumber(bytes: number[], value: number): void {
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  bytes.push(rest);
}

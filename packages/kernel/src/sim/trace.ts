// What happened, as a running hash and a short tail.
//
// Every event, message and disk operation is recorded. Two runs of one seed must end with the same hash;
// if they do not, something outside the simulation (a real clock, a real random number, the order of a
// hash table that was fed from them) has leaked in. The tail is printed when a run fails.
import { TICKS_PER_MS } from './ticks.js';

const TAIL_LINES = 256;

export interface TraceEntry {
  readonly timeMs: number;
  /** `timer`, `arrive`, `synced-write`, `kill`… */
  readonly kind: string;
  /** The subject: a node, a store, the two ends of a connection. */
  readonly subject: string;
  /** A size, a count or a hash of bytes. */
  readonly detail: number;
}

export class Trace {
  readonly #tail: TraceEntry[] = [];
  readonly #onEntry: ((entry: TraceEntry) => void) | undefined;
  #noted = 0;
  #low = 0x9e3779b9;
  #high = 0x243f6a88;

  /** `onEntry` receives everything, for checkers of the order of events. */
  constructor(onEntry?: (entry: TraceEntry) => void) {
    this.#onEntry = onEntry;
  }

  note(timeMs: number, kind: string, subject: string, detail: number): void {
    this.#mix(Math.floor(timeMs * TICKS_PER_MS));
    this.#mixText(kind);
    this.#mixText(subject);
    this.#mix(detail);
    const entry = { timeMs, kind, subject, detail };
    this.#tail[this.#noted % TAIL_LINES] = entry;
    this.#noted += 1;
    this.#onEntry?.(entry);
  }

  /** Sixteen hexadecimal digits over everything recorded so far. */
  hash(): string {
    const hex = (word: number) => (word >>> 0).toString(16).padStart(8, '0');
    return hex(this.#high) + hex(this.#low);
  }

  /** The newest lines, oldest first. */
  tail(linesMax = TAIL_LINES): readonly string[] {
    const start = this.#noted % this.#tail.length || 0;
    const ordered = [...this.#tail.slice(start), ...this.#tail.slice(0, start)];
    return ordered.slice(-linesMax).map(formatTraceEntry);
  }

  #mix(value: number): void {
    const word = value | 0;
    const rest = ((value - word) / 2 ** 32) | 0;
    this.#low = Math.imul(this.#low ^ word, 0x85ebca6b) + this.#high;
    this.#high = Math.imul(this.#high ^ rest ^ (this.#low >>> 13), 0xc2b2ae35);
  }

  #mixText(text: string): void {
    let hash = text.length;
    for (let index = 0; index < text.length; index += 1) {
      hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
    }
    this.#mix(hash);
  }
}

/** A 32-bit hash of bytes, to record the content of a message or a batch. */
export function hashBytes(bytes: Uint8Array, start = 0x811c9dc5): number {
  let hash = start;
  for (let index = 0; index < bytes.length; index += 1) {
    hash = Math.imul(hash ^ (bytes[index] as number), 0x01000193);
  }
  return hash;
}

export function formatTraceEntry(entry: TraceEntry): string {
  const time = entry.timeMs.toFixed(3).padStart(12);
  return `${time} ms  ${entry.kind.padEnd(14)} ${entry.subject} ${entry.detail}`;
}

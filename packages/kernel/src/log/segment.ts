// One file of a segment log, as the log remembers it: where it begins, how long it is, and the positions
// of some of its records.
import { kernelLimits } from '../limits.js';
import { segmentPath } from './segment-format.js';

const INDEX_STEP_BYTES = kernelLimits.logIndexStepBytes.value;

interface Mark {
  readonly number: number;
  /** Where this record begins. */
  readonly offset: number;
}

export class Segment {
  readonly path: string;
  readonly firstNumber: number;
  /** Length of the file. */
  bytes: number;
  readonly #marks: Mark[] = [];

  constructor(directory: string, firstNumber: number, bytes: number) {
    this.path = segmentPath(directory, firstNumber);
    this.firstNumber = firstNumber;
    this.bytes = bytes;
  }

  /** Remembers where a record begins, if it is far enough from the last one remembered. */
  mark(number: number, offset: number): void {
    const last = this.#marks.at(-1);
    if (last !== undefined && offset - last.offset < INDEX_STEP_BYTES) return;
    this.#marks.push({ number, offset });
  }

  /** Bytes from the last remembered record that is not behind `number` to the end. */
  bytesFrom(number: number): number {
    const mark = this.#marks.findLast((each) => each.number <= number);
    return this.bytes - (mark?.offset ?? 0);
  }
}

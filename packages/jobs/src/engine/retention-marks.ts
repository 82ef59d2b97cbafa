// Finds the newest change of a job that is outside retention: too many came after it, or too many bytes, or
// too much time has passed.
//
// Every so many revisions or bytes a mark notes both and the time, so a few hundred numbers tell about 100 000
// changes. The newest change counts as a mark: a job at rest grows old as a whole.
// Marks are not stored: after a restart all that is older counts as written at the last change of the job.

export interface RetentionOptions {
  readonly revisionsMax: number;
  readonly ageMs: number;
  readonly bytesMax: number;
}

interface Mark {
  readonly revision: number;
  readonly timestampMs: number;
  /** Of all records up to this one, since the job was loaded. */
  readonly bytes: number;
}

const MARKS_PER_RETENTION = 256;

export class RetentionMarks {
  readonly #options: RetentionOptions;
  readonly #everyRevisions: number;
  readonly #everyBytes: number;
  readonly #marks: Mark[] = [];
  #newest: Mark;

  constructor(
    options: RetentionOptions,
    head: { readonly revision: number; readonly timestampMs: number },
  ) {
    this.#options = options;
    this.#everyRevisions = Math.max(1, Math.floor(options.revisionsMax / MARKS_PER_RETENTION));
    this.#everyBytes = options.bytesMax / MARKS_PER_RETENTION;
    this.#newest = { revision: head.revision, timestampMs: head.timestampMs, bytes: 0 };
    this.#marks.push(this.#newest);
  }

  /** Call it after each commit. */
  note(revision: number, timestampMs: number, bytes: number): void {
    this.#newest = { revision, timestampMs, bytes: this.#newest.bytes + bytes };
    const mark = this.#marks.at(-1);
    const isDue =
      mark === undefined ||
      revision >= mark.revision + this.#everyRevisions ||
      this.#newest.bytes >= mark.bytes + this.#everyBytes;
    if (isDue) this.#marks.push(this.#newest);
  }

  /** Changes up to here may go if a later one has replaced them. */
  outside(revision: number, nowMs: number): number {
    let outside = Math.max(0, revision - this.#options.revisionsMax);
    let index = 0;
    for (const mark of this.#marks) {
      const isOutside = this.#isOutside(mark, nowMs);
      if (!isOutside && mark.revision > outside) break;
      outside = Math.max(outside, isOutside ? mark.revision : 0);
      index += 1;
    }
    // The newest mark that is outside stays: it says so again.
    if (index > 1) this.#marks.splice(0, index - 1);
    return this.#isOutside(this.#newest, nowMs) ? this.#newest.revision : outside;
  }

  #isOutside({ timestampMs, bytes }: Mark, nowMs: number): boolean {
    const { ageMs, bytesMax } = this.#options;
    return timestampMs <= nowMs - ageMs || bytes <= this.#newest.bytes - bytesMax;
  }
}

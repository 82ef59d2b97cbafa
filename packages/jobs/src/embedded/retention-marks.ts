// Finds the newest change of a job that is outside retention: too many came after it, or too many bytes, or
// too much time has passed.
//
// Every so many revisions a mark notes time and bytes, so a few hundred numbers tell about 100 000 changes.
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
  readonly #marks: Mark[] = [];
  #bytes = 0;
  #marked: number;

  constructor(
    options: RetentionOptions,
    head: { readonly revision: number; readonly timestampMs: number },
  ) {
    this.#options = options;
    this.#everyRevisions = Math.max(1, Math.floor(options.revisionsMax / MARKS_PER_RETENTION));
    this.#marked = head.revision;
    this.#marks.push({ revision: head.revision, timestampMs: head.timestampMs, bytes: 0 });
  }

  /** Call it after each commit. */
  note(revision: number, timestampMs: number, bytes: number): void {
    this.#bytes += bytes;
    if (revision < this.#marked + this.#everyRevisions) return;
    this.#marked = revision;
    this.#marks.push({ revision, timestampMs, bytes: this.#bytes });
  }

  /** Changes up to here may go if a later one has replaced them. */
  outside(revision: number, nowMs: number): number {
    const { revisionsMax, ageMs, bytesMax } = this.#options;
    let outside = Math.max(0, revision - revisionsMax);
    let index = 0;
    for (const mark of this.#marks) {
      const isOutside = mark.timestampMs <= nowMs - ageMs || mark.bytes <= this.#bytes - bytesMax;
      if (!isOutside && mark.revision > outside) break;
      outside = Math.max(outside, isOutside ? mark.revision : 0);
      index += 1;
    }
    // The newest mark that is outside stays: it says so again.
    if (index > 1) this.#marks.splice(0, index - 1);
    return outside;
  }
}

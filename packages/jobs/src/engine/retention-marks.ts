// Finds the newest change of a job that is outside retention: because of the number or size of the changes after it, or
// because of its age.
//
// Marks at regular intervals, and one for the newest change, cover 100,000 changes with a few hundred. They are not
// stored: when a job is loaded, all older changes count as written at the time of its last change.

export interface RetentionLimits {
  readonly retentionRevisionsMax: number;
  readonly retentionMs: number;
  readonly retentionBytesMax: number;
}

interface Mark {
  readonly revision: number;
  readonly timestampMs: number;
  /** Total size of all records up to this one, since the job was loaded. */
  readonly bytes: number;
}

const MARKS_PER_RETENTION = 256;

export class RetentionMarks {
  readonly #limits: RetentionLimits;
  /** Oldest first. */
  readonly #marks: Mark[];
  #newest: Mark;

  constructor(limits: RetentionLimits, head: Omit<Mark, 'bytes'>) {
    this.#limits = limits;
    this.#newest = { revision: head.revision, timestampMs: head.timestampMs, bytes: 0 };
    this.#marks = [this.#newest];
  }

  note(revision: number, timestampMs: number, bytes: number): void {
    const { retentionRevisionsMax, retentionBytesMax } = this.#limits;
    this.#newest = { revision, timestampMs, bytes: this.#newest.bytes + bytes };
    const mark = this.#marks.at(-1) ?? this.#newest;
    const everyRevisions = Math.max(1, Math.floor(retentionRevisionsMax / MARKS_PER_RETENTION));
    const isDue =
      revision >= mark.revision + everyRevisions ||
      this.#newest.bytes >= mark.bytes + retentionBytesMax / MARKS_PER_RETENTION;
    if (isDue) this.#marks.push(this.#newest);
  }

  /** Changes up to this revision may be removed if they have been replaced. */
  outside(revision: number, nowMs: number): number {
    const { retentionRevisionsMax, retentionMs, retentionBytesMax } = this.#limits;
    const tooMany = Math.max(0, revision - retentionRevisionsMax);
    const isOutside = (mark: Mark) =>
      mark.revision <= tooMany ||
      mark.timestampMs <= nowMs - retentionMs ||
      mark.bytes <= this.#newest.bytes - retentionBytesMax;
    if (isOutside(this.#newest)) return this.#newest.revision;
    // Keep the newest mark that is outside: the next call needs it.
    while (this.#marks[1] && isOutside(this.#marks[1])) this.#marks.shift();
    const [first] = this.#marks;
    return first && isOutside(first) ? Math.max(tooMany, first.revision) : tooMany;
  }
}

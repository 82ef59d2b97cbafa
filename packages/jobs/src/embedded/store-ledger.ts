// What the store remembers besides its jobs: how many there are, the number of the next one, the generation of
// its cursors, and whether buffered writes may be lying about. It changes when a commit has resolved.
//
// The mark of buffered writes is taken back only when the storage has secured them: a synced write does not.
import type { StoreRow } from './row-codec.js';
import type { StagedBatch } from './staged-batch.js';

/** What is found at the start. */
export interface StoreFacts {
  readonly row: StoreRow;
  readonly jobsCount: number;
  readonly logRecords: number;
  readonly hasBufferedMark: boolean;
}

export class StoreLedger {
  #row: StoreRow;
  #jobsCount: number;
  #hasBufferedMark: boolean;

  #logRecords: number;

  constructor(start: StoreFacts) {
    this.#row = start.row;
    this.#jobsCount = start.jobsCount;
    this.#logRecords = start.logRecords;
    this.#hasBufferedMark = start.hasBufferedMark;
  }

  get jobsCount(): number {
    return this.#jobsCount;
  }

  /** Of all jobs. */
  get logRecords(): number {
    return this.#logRecords;
  }

  /** The disk knows that a loss of power may take writes. */
  get hasBufferedMark(): boolean {
    return this.#hasBufferedMark;
  }

  incarnationOf(jobNo: number): string {
    return `${jobNo}-${this.#row.storeId}`;
  }

  /** False: its creation is in flight. The storage may show it already. */
  isCommitted(jobNo: number): boolean {
    return jobNo < this.#row.nextJobNo;
  }

  /** What the cursors of a job begin with. */
  cursorBase(incarnation: string): string {
    return `${incarnation}-${this.#row.generation}`;
  }

  jobsCountIn(batch: StagedBatch): number {
    let count = this.#jobsCount - batch.damagedJobs.length;
    for (const staged of batch.jobs) {
      count += Number(staged.isNew) - Number(staged.isDeleted);
    }
    return count;
  }

  /** The number that the next job of this batch gets. */
  nextJobNo(batch: StagedBatch): number {
    return (batch.storeRow ?? this.#row).nextJobNo;
  }

  takeJobNo(batch: StagedBatch): void {
    const row = batch.storeRow ?? this.#row;
    batch.storeRow = { ...row, nextJobNo: row.nextJobNo + 1 };
  }

  /** Before a buffered write is acknowledged the disk must know that there are some. */
  markBuffered(batch: StagedBatch): void {
    if (this.#hasBufferedMark || batch.bufferedMark === 'set') return;
    batch.bufferedMark = 'set';
    batch.requireSynced();
  }

  /** Call it when the storage has secured all writes and no more will come. */
  clearBuffered(batch: StagedBatch): void {
    batch.bufferedMark = 'clear';
    batch.requireSynced();
  }

  /** Before the jobs of the batch take on what was staged. */
  apply(batch: StagedBatch): void {
    for (const { job, head, isDeleted } of batch.jobs) {
      this.#logRecords += (isDeleted ? 0 : head.logRecords) - job.head.logRecords;
    }
    this.#jobsCount = this.jobsCountIn(batch);
    this.#row = batch.storeRow ?? this.#row;
    if (batch.bufferedMark !== undefined) this.#hasBufferedMark = batch.bufferedMark === 'set';
  }
}

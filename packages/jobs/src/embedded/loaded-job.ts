// A job in memory: all rows but the records of the log, each as it was last committed.
//
// It changes only when a commit has resolved, so a reader sees nothing that the disk may not have. Whoever
// holds a pin may count on it to stay: it is only loaded again, never twice at a time.
import { JobAggregates } from '../aggregate/job-aggregates.js';
import type { JobRow, TaskRow } from '../core/rows.js';
import type { JobFeed } from '../subscription/job-feed.js';
import { CellPlaces } from './cell-places.js';
import type { LogContext } from './change-codec.js';
import { JobDamage } from './damage.js';
import type { JobHead, RowSums } from './head.js';
import { RetentionMarks, type RetentionOptions } from './retention-marks.js';
import { TagDictionary } from './tag-dictionary.js';

const JOB_BYTES = 4_096;
const TASK_BYTES = 250;

export class LoadedJob {
  readonly jobNo: number;
  row: JobRow;
  head: JobHead;
  readonly tags = new TagDictionary();
  readonly tasks = new Map<number, TaskRow>();
  readonly places = new CellPlaces();
  readonly aggregates: JobAggregates;
  readonly damage = new JobDamage();
  readonly retention: RetentionMarks;
  readonly logContext: LogContext;
  /** Made for the first subscriber, gone a while after the last. */
  feed: JobFeed | undefined;
  /** Calls and batches that need it to stay. */
  pins = 0;
  /** What the cache counts it as. */
  countedBytes = 0;
  /** What its rows added up to when it was loaded. */
  found: RowSums = { versions: 0, epochs: 0 };
  isCompacting = false;
  isDeleted = false;

  constructor(
    job: { readonly jobNo: number; readonly row: JobRow; readonly head: JobHead },
    retention: RetentionOptions,
  ) {
    this.jobNo = job.jobNo;
    this.row = job.row;
    this.head = job.head;
    this.aggregates = new JobAggregates(job.row);
    this.retention = new RetentionMarks(retention, job.head);
    const { jobId, incarnation } = job.row;
    this.logContext = { jobId, incarnation, tagOf: (tagNo) => this.tags.nameOf(tagNo) };
  }

  /** What it takes in memory, about. */
  get bytes(): number {
    const ringBytes = this.feed?.ringBytes ?? 0;
    const tasksBytes = this.tasks.size * TASK_BYTES;
    return JOB_BYTES + tasksBytes + this.aggregates.bytes + this.places.bytes + ringBytes;
  }

  /** 0 if there is none. */
  placeOf(taskId: number, tag: string): number {
    const tagNo = this.tags.numberOf(tag);
    return tagNo === undefined ? 0 : this.places.get(tagNo, taskId);
  }
}

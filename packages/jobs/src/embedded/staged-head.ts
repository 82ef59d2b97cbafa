// The head of a job while a batch is formed: it moves with each change that is staged.
import { ClassCounts } from '../aggregate/class-counts.js';
import type { HeadRow } from '../core/rows.js';
import type { JobHead } from './head.js';

export class StagedHead implements JobHead {
  revision: number;
  timestampMs: number;
  statesCount: number;
  compactedTo: number;
  readonly written: ClassCounts;
  silentTasks: number;
  expectedWritten: number;
  lostTasks: number;
  logRecords: number;
  readonly sums: { versions: number; epochs: number };

  constructor(head: JobHead) {
    this.revision = head.revision;
    this.timestampMs = head.timestampMs;
    this.statesCount = head.statesCount;
    this.compactedTo = head.compactedTo;
    this.written = Object.assign(new ClassCounts(), head.written);
    this.silentTasks = head.silentTasks;
    this.expectedWritten = head.expectedWritten;
    this.lostTasks = head.lostTasks;
    this.logRecords = head.logRecords;
    this.sums = { ...head.sums };
  }

  /** What the core has decided. */
  advance({ revision, timestampMs, statesCount }: HeadRow): void {
    this.revision = revision;
    this.timestampMs = timestampMs;
    this.statesCount = statesCount;
  }
}

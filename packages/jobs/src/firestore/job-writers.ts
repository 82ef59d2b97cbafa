// The writers of a store, one for each job that has something to write.
import type { Firestore } from '@google-cloud/firestore';
import type { JobsMetrics } from '../metrics-list.js';
import type { GroupResult } from './commit-group.js';
import { JobDocuments } from './document-refs.js';
import type { FirestoreCalls } from './firestore-calls.js';
import { JobWriter } from './job-writer.js';
import { WriteQueueQuota } from './write-queue-quota.js';

export interface JobWritersDeps {
  readonly firestore: Firestore;
  readonly calls: FirestoreCalls;
  readonly metrics: JobsMetrics;
  readonly onCommitted: (jobId: string, result: GroupResult<unknown>) => void;
}

/** Above so many those without work are forgotten. */
const IDLE_WRITERS_MAX = 256;

export class JobWriters {
  readonly #deps: JobWritersDeps;
  readonly #quota: WriteQueueQuota;
  readonly #writers = new Map<string, JobWriter>();

  constructor(deps: JobWritersDeps) {
    this.#deps = deps;
    this.#quota = new WriteQueueQuota(deps.metrics);
  }

  of(jobId: string): JobWriter {
    const known = this.#writers.get(jobId);
    if (known) return known;
    this.#forgetIdle();
    const { firestore, calls, metrics, onCommitted } = this.#deps;
    const writer = new JobWriter({
      calls,
      metrics,
      quota: this.#quota,
      documents: new JobDocuments(firestore, jobId),
      onCommitted: (result) => onCommitted(jobId, result),
    });
    this.#writers.set(jobId, writer);
    return writer;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#writers.values()].map((writer) => writer.close()));
  }

  #forgetIdle(): void {
    if (this.#writers.size < IDLE_WRITERS_MAX) return;
    for (const [jobId, writer] of this.#writers) if (writer.isIdle) this.#writers.delete(jobId);
  }
}

// What whoever deletes a job is told: the last revision that it had.
import type { JobStore } from '@syncline/jobs';
import { SynclineError } from '@syncline/kernel';

/** 0: there is no such job, or it is damaged and nobody can tell. A damaged one can be deleted all the same. */
export async function lastRevision(store: JobStore, jobId: string): Promise<number> {
  try {
    return (await store.getJob(jobId))?.revision ?? 0;
  } catch (thrown) {
    if (thrown instanceof SynclineError && thrown.code === 'corrupt') return 0;
    throw thrown;
  }
}

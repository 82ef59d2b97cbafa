// The revision that is returned to the caller of a deletion: the last one that the job had.
import type { JobStore } from '@syncline/jobs';
import { SynclineError } from '@syncline/kernel';

/** 0: there is no such job, or it is damaged and its revision is unknown. A damaged one can still be deleted. */
export async function lastRevision(store: JobStore, jobId: string): Promise<number> {
  try {
    return (await store.getJob(jobId))?.revision ?? 0;
  } catch (thrown) {
    if (thrown instanceof SynclineError && thrown.code === 'corrupt') return 0;
    throw thrown;
  }
}

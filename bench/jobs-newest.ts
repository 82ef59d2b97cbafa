// The newest revision of a job, for subscribers that skip the replay.
import type { Cursor, JobStore } from '@syncline/jobs';

export async function newestCursor(store: JobStore, jobId: string): Promise<Cursor> {
  for await (const event of store.subscribe(jobId, { scope: { taskId: 0 } }))
    if (event.kind === 'synced') return event.cursor;
  throw new Error('the replay has no end');
}

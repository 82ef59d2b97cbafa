// Where a job is now, so that subscribers who are not there for a replay can begin behind it.
import type { Cursor, JobStore } from '@syncline/jobs';

export async function newestCursor(store: JobStore, jobId: string): Promise<Cursor> {
  for await (const event of store.subscribe(jobId, { scope: { taskId: 0 } }))
    if (event.kind === 'synced') return event.cursor;
  throw new Error('the replay has no end');
}

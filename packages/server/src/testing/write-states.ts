// Writes states as tasks would: each task is claimed once, and its writes carry that epoch.
import type { JobStore } from '@syncline/jobs';

export interface StateToWrite {
  readonly taskId: number;
  readonly tag: string;
  readonly status: number;
  readonly message: string;
}

let written = 0;

export async function writeStates(
  store: JobStore,
  jobId: string,
  states: readonly StateToWrite[],
): Promise<void> {
  const job = await store.getJob(jobId);
  if (job === undefined) throw new Error(`there is no job ${jobId}`);
  const { incarnation } = job;
  const epochs = new Map<number, number>();
  for (const { taskId, ...state } of states) {
    const claim = { jobId, incarnation, taskId, action: 'claim', epoch: 0, ttlMs: 0 } as const;
    const epoch = epochs.get(taskId) ?? (await store.lease({ ...claim, holder: '' })).epoch;
    epochs.set(taskId, epoch);
    written += 1;
    const write = { jobId, incarnation, taskId, epoch, schemaVersion: 1, ...state };
    await store.setState({ ...write, eventId: `event-${written}` });
  }
}

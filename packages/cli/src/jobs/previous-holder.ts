// Who holds a task before it is claimed, for a message: the newest claim wins, and the holder can no longer write.
import { createSystemClock, createSystemRandom, SynclineError } from '@syncline/kernel';
import { cliLimits } from '../limits.js';
import type { StatusTarget } from '../status/status-target.js';
import { followJob } from './follow-job.js';

/** The tag only limits what the server sends. */
export interface TaskOfTag {
  readonly jobId: string;
  readonly taskId: number;
  readonly tag: string;
}

/** Undefined if the task is free, or if the answer is not known: a message is not worth failing for. */
export async function previousHolder(
  target: StatusTarget,
  { jobId, taskId, tag }: TaskOfTag,
): Promise<string | undefined> {
  const deps = { clock: createSystemClock(), random: createSystemRandom(), target };
  const signal = AbortSignal.timeout(cliLimits.requestTimeoutMs.value);
  const scope = { taskId, tag };
  let holder: string | undefined;
  try {
    for await (const item of followJob(deps, { jobId, scope, include: ['lease'], signal })) {
      if (item.kind === 'down') return undefined;
      for (const event of item.events) {
        if (event.kind === 'synced') return holder;
        if (event.kind !== 'lease') continue;
        holder = event.lease.state === 'held' ? event.lease.holder : undefined;
      }
    }
  } catch (thrown) {
    if (!(thrown instanceof SynclineError)) throw thrown;
  }
  return undefined;
}

// Follows a job until it ends, its reader goes or a signal comes: as a table, or as a line per event.
//
// The job is folded only where its progress is needed. Lines alone cost no memory, however large the job is.
import { setImmediate } from 'node:timers/promises';
import type { Counts, Scope } from '@syncline/jobs';
import { SynclineError, unreachable } from '@syncline/kernel';
import type { CliWorld } from '../cli-world.js';
import { listenForStop } from '../serve/stop-request.js';
import { EventLines } from './event-lines.js';
import { type FollowDeps, type FollowItem, type FollowOptions, followJob } from './follow-job.js';
import { type Ending, JobWatch } from './job-watch.js';
import { startFold } from './start-fold.js';
import { tellUnknownTag } from './unknown-tag.js';
import type { WatchOutput } from './watch-output.js';
import { WatchTable } from './watch-table.js';

export interface WatchDeps extends FollowDeps {
  readonly world: CliWorld;
}

export interface WatchPlan {
  readonly jobId: string;
  readonly scope: Scope;
  readonly after?: string;
  readonly isUntilFinished: boolean;
  readonly isTable: boolean;
}

export async function watchJob(deps: WatchDeps, plan: WatchPlan): Promise<void> {
  const watched = await startWatch(deps, plan);
  await tellUnknownTag(deps.world, { ...plan, target: deps.target });
  const output: WatchOutput =
    plan.isTable && watched !== undefined
      ? new WatchTable({ ...deps, watched })
      : new EventLines(deps.world);
  const stopping = new AbortController();
  let stoppedBy: string | undefined;
  void listenForStop(deps.world, () => output.end()).then(({ event }) => {
    stoppedBy = event;
    stopping.abort();
  });
  const items = followJob(deps, followOptions(plan, stopping.signal));
  const ending = await consume(items, { plan, watched, output }).finally(() => output.end());
  if (ending !== undefined) conclude(ending, plan.jobId, watched?.picture().progress.cells);
  else if (plan.isUntilFinished && stoppedBy !== undefined)
    throw new SynclineError('aborted', `stopped by ${stoppedBy} before the job was over.`);
}

async function startWatch(deps: WatchDeps, plan: WatchPlan): Promise<JobWatch | undefined> {
  if (!plan.isTable && !plan.isUntilFinished) return undefined;
  const fold = await startFold(deps.target, { ...plan, isResumed: plan.after !== undefined });
  return new JobWatch({ clock: deps.clock, fold }, plan.scope);
}

function followOptions({ jobId, scope, after }: WatchPlan, signal: AbortSignal): FollowOptions {
  const options = { jobId, scope, include: ['lease', 'job'], signal } as const;
  return after === undefined ? options : { ...options, after };
}

interface Consumer {
  readonly plan: WatchPlan;
  readonly watched: JobWatch | undefined;
  readonly output: WatchOutput;
}

async function consume(
  items: AsyncIterable<FollowItem>,
  { plan, watched, output }: Consumer,
): Promise<Ending | undefined> {
  for await (const item of items) {
    const ending = watched === undefined ? deletionIn(item) : watched.take(item);
    output.show(item);
    if (ending === 'deleted' || (ending !== undefined && plan.isUntilFinished)) {
      output.end(ending);
      return ending;
    }
    await setImmediate(); // a pipe without a reader is known after the turn that wrote to it
    if (output.isUnread) return undefined;
  }
  return undefined;
}

function deletionIn(item: FollowItem): Ending | undefined {
  if (item.kind === 'down') return undefined;
  const isDeleted = item.events.some((event) => event.kind === 'gap' && event.reason === 'deleted');
  return isDeleted ? 'deleted' : undefined;
}

function conclude(ending: Ending, jobId: string, cells: Counts | undefined): void {
  switch (ending) {
    case 'finished':
      return;
    case 'settled':
      throw new SynclineError(
        'aborted',
        `job ${jobId} is over and not finished: of ${cells?.total} cells ${cells?.failed} failed, ${cells?.warned} with a warning.`,
      );
    case 'marked':
      throw new SynclineError('not-found', `job ${jobId} is marked deleted: it will not go on.`);
    case 'deleted':
      throw new SynclineError('not-found', `job ${jobId} was deleted.`);
    default:
      unreachable(ending);
  }
}

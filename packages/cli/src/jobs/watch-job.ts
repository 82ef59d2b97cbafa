// Follows a job until it ends, its output is closed or a signal arrives: as a table, or as one line per event.
//
// Events are folded only where progress is needed. Plain lines use no memory, however large the job is.
import { setImmediate } from 'node:timers/promises';
import { type Counts, JobFold, type Scope } from '@syncline/jobs';
import { SynclineError, unreachable } from '@syncline/kernel';
import { type CliWorld, say } from '../cli-world.js';
import { printable, printableJson } from '../printable.js';
import { listenForStop } from '../serve/stop-request.js';
import { fetchAnswer } from '../status/fetch-answer.js';
import type { StatusTarget } from '../status/status-target.js';
import { type FollowDeps, type FollowItem, followJob } from './follow-job.js';
import { isStatePage } from './job-answers.js';
import { fetchJob, jobPath, scopeQuery, unknownTag, unknownTagText } from './job-target.js';
import { type Ending, JobWatch } from './job-watch.js';
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
  const unknown = await unknownTag(deps.target, plan);
  if (unknown !== undefined) say(deps.world, unknownTagText(unknown));
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
  const { signal } = stopping;
  const items = followJob(deps, { ...plan, include: ['lease', 'job'], signal });
  const ending = await consume(items, { plan, watched, output }).finally(() => output.end());
  if (ending !== undefined) conclude(ending, plan.jobId, watched?.picture().progress.cells);
  else if (plan.isUntilFinished && stoppedBy !== undefined)
    throw new SynclineError('aborted', `stopped by ${stoppedBy} before the job ended.`);
}

async function startWatch(deps: WatchDeps, plan: WatchPlan): Promise<JobWatch | undefined> {
  if (!plan.isTable && !plan.isUntilFinished) return undefined;
  const fold = await startFold(deps.target, plan);
  return new JobWatch({ clock: deps.clock, fold }, plan.scope);
}

/**
 * A stream from the start includes all states. One that resumes has only later changes, so the earlier states are read
 * first.
 */
async function startFold(
  target: StatusTarget,
  { jobId, scope, after }: WatchPlan,
): Promise<JobFold> {
  const { job, lost } = await fetchJob(target, jobId, scope);
  const fold = new JobFold(job, scope);
  if (after === undefined) return fold;
  fold.seedLost(lost);
  const query = scopeQuery(scope);
  for (let afterRevision = 0, isMore = true; isMore; ) {
    query.set('afterRevision', String(afterRevision));
    const page = await fetchAnswer(
      target,
      `${jobPath(jobId)}/states?${query.toString()}`,
      isStatePage,
    );
    fold.seed(page.states, page.revision);
    isMore = page.more && page.revision > afterRevision;
    afterRevision = page.revision;
  }
  return fold;
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
    await setImmediate(); // a closed pipe is noticed one turn after writing to it
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
      throw new SynclineError('aborted', `job ${jobId} ended unfinished: ${settledText(cells)}.`);
    case 'marked':
      throw new SynclineError(
        'not-found',
        `job ${jobId} is marked as deleted: it will not change any more.`,
      );
    case 'deleted':
      throw new SynclineError('not-found', `job ${jobId} was deleted.`);
    default:
      unreachable(ending);
  }
}

/** `1 of 4 cells failed, and 2 ended with a warning`, without a part that is zero. */
function settledText({ failed = 0, warned = 0, total = 0 }: Partial<Counts> = {}): string {
  const ofAll = ` of ${total} ${total === 1 ? 'cell' : 'cells'}`;
  if (failed === 0) return `${warned}${ofAll} ended with a warning`;
  const also = warned === 0 ? '' : `, and ${warned} ended with a warning`;
  return `${failed}${ofAll} failed${also}`;
}

/** Where a watch shows its events: a table, or lines. */
interface WatchOutput {
  /** Called with every item, in order. */
  show(item: FollowItem): void;
  /** The reader has closed the pipe. */
  readonly isUnread: boolean;
  /** May be called twice; the first ending counts. */
  end(ending?: Ending): void;
}

/**
 * Events as lines of JSON, for programs. An unreachable server is an event too; the reason goes to standard error.
 */
class EventLines implements WatchOutput {
  readonly #world: CliWorld;
  #isDown = false;

  constructor(world: CliWorld) {
    this.#world = world;
  }

  get isUnread(): boolean {
    return this.#world.stdout.isUnread === true;
  }

  show(item: FollowItem): void {
    const events = item.kind === 'events' ? item.events : [item.event];
    for (const event of events) this.#world.stdout.write(`${printableJson(event, 0)}\n`);
    if (item.kind === 'down' && !this.#isDown)
      say(this.#world, `syncline: ${printable(item.reason)}. Trying again.`);
    this.#isDown = item.kind === 'down';
  }

  end(): void {}
}

// One incarnation of a job in memory: its rows, what is derived from them, and its feed.
//
// The core decides, `commit` keeps: rows, aggregates and the latest changes in one tick, then the feed. Nothing
// can come between, since nothing waits.
import { JobAggregates } from '../aggregate/job-aggregates.js';
import { progressOf } from '../aggregate/progress-of.js';
import type { LeaseRows } from '../core/decide-lease.js';
import type { SetStateRows } from '../core/decide-set-state.js';
import type { Applied, JobRows, WrittenTags } from '../core/decision.js';
import type { CellRow, HeadRow, JobRow, TaskRow } from '../core/rows.js';
import { jobInfoOf, leaseOf } from '../core/views.js';
import type { JobInfo, JobSummary, TaskLease } from '../job.js';
import type { StatePage } from '../job-store.js';
import { jobsLimits } from '../limits.js';
import type { Progress } from '../progress.js';
import type { Scope, State } from '../state.js';
import { JobFeed, type JobFeedDeps } from '../subscription/job-feed.js';
import type { JobFeedSource, JobFeedView } from '../subscription/job-feed-source.js';
import type { JobFilter } from '../subscription/job-filter.js';
import { filteredPages } from './filtered-pages.js';
import { LatestChanges } from './latest-changes.js';
import { type PageBounds, StatePageBuilder } from './state-page.js';

/** Rows that a decision asks to be kept. What it leaves out stays. */
export type KeptRows = Applied &
  Readonly<{ job?: JobRow; task?: TaskRow | undefined; cell?: CellRow; state?: State }>;

interface Cell {
  readonly row: CellRow;
  readonly state: State;
}

export class MemoryJob implements JobFeedSource {
  readonly feed: JobFeed;
  readonly #aggregates: JobAggregates;
  readonly #tasks = new Map<number, TaskRow>();
  /** By tag, then by task. */
  readonly #cells = new Map<string, Map<number, Cell>>();
  readonly #latest = new LatestChanges();
  #job: JobRow;
  #head: HeadRow;

  constructor(
    deps: Omit<JobFeedDeps, 'source'>,
    birth: KeptRows & Readonly<{ job: JobRow }>,
    revisionsMax: number,
  ) {
    this.#job = birth.job;
    this.#head = { revision: 0, timestampMs: 0, statesCount: 0 };
    this.#aggregates = new JobAggregates(birth.job);
    const feedOptions = { base: birth.job.incarnation, ringChangesMax: revisionsMax };
    this.feed = new JobFeed({ ...deps, source: this }, feedOptions);
    this.commit(birth);
  }

  get rows(): JobRows & Readonly<{ tags: WrittenTags }> {
    return { job: this.#job, head: this.#head, tags: this.#cells };
  }

  get info(): JobInfo {
    return jobInfoOf(this.#job, this.#head);
  }

  get summary(): JobSummary {
    const { lostTasks } = this.#aggregates;
    return { job: this.info, cells: this.#aggregates.counts(), lostTasks: lostTasks.size };
  }

  rowsFor(taskId: number, tag: string): SetStateRows {
    const cell = this.#cells.get(tag)?.get(taskId)?.row;
    return { ...this.rows, task: this.#tasks.get(taskId), cell };
  }

  leaseRows(taskId: number): LeaseRows {
    return { ...this.rows, task: this.#tasks.get(taskId) };
  }

  commit(kept: KeptRows): void {
    const { head, job, task, cell, state, changes } = kept;
    this.#head = head;
    if (job) this.#keepJob(job);
    if (task) this.#keepTask(task);
    if (cell && state) this.#keepCell({ row: cell, state });
    for (const change of changes) this.#latest.put(change);
    this.feed.publish(changes);
  }

  /** Whether a cell of the task is neither finished nor failed. */
  hasUnfinished(taskId: number): boolean {
    return this.#aggregates.hasUnfinished(taskId);
  }

  stateOf(taskId: number, tag: string): State | undefined {
    return this.#cells.get(tag)?.get(taskId)?.state;
  }

  progress(scope: Scope): Progress {
    const { jobId } = this.#job;
    const stateOf = (taskId: number, tag: string) => this.stateOf(taskId, tag);
    const source = { jobId, revision: this.#head.revision, stateOf };
    return progressOf(source, this.#aggregates.summary(scope));
  }

  lost(): readonly TaskLease[] {
    return [...this.#aggregates.lostTasks]
      .sort((a, b) => a - b)
      .slice(0, jobsLimits.lostListMax.value)
      .flatMap((taskId) => this.#tasks.get(taskId) ?? [])
      .map((task) => leaseOf(task, 0));
  }

  page(scope: Scope, bounds: PageBounds): StatePage {
    const builder = new StatePageBuilder(scope, bounds);
    for (const change of this.#latest.view().above(bounds.afterRevision)) {
      if (builder.add(change) === 'full') break;
    }
    return builder.page(this.#job.incarnation, this.#head.revision);
  }

  revision(): number {
    return this.#head.revision;
  }

  /** The ring of the feed is all the history there is: what it has lost, the view does not have either. */
  async view(filter: JobFilter): Promise<JobFeedView> {
    const { revision } = this.#head;
    const latest = this.#latest.view();
    return {
      revision,
      compactedTo: revision,
      latest: (after) => filteredPages(latest.above(after), filter),
      changes: () => filteredPages([], filter),
      close() {},
    };
  }

  #keepJob(job: JobRow): void {
    this.#job = job;
    this.#aggregates.setExpectedTags(job.expectedTags);
  }

  #keepTask(task: TaskRow): void {
    this.#tasks.set(task.taskId, task);
    this.#aggregates.setLost(task.taskId, task.state === 'lost');
  }

  #keepCell(cell: Cell): void {
    const { taskId, tag, status } = cell.state;
    const tasks = this.#cells.get(tag) ?? new Map<number, Cell>();
    this.#cells.set(tag, tasks.set(taskId, cell));
    this.#aggregates.set(taskId, tag, status);
  }
}

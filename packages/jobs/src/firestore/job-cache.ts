// What a listener knows of one incarnation of a job: the latest change of each key, up to one revision.
//
// Commits of a job come one after the other and each revision is in one document, so a snapshot holds everything
// up to its highest revision, and nothing lower can follow. `apply` takes only what rose, in order of revisions;
// a snapshot that lags behind our own writes changes nothing.
import type { HeadRow, JobChange, JobRow } from '../core/rows.js';
import { jobInfoOf } from '../core/views.js';
import type { Cell } from '../engine/best-cell.js';
import { JobCells } from '../engine/job-cells.js';
import { progressOf } from '../engine/progress-of.js';
import type { JobInfo, TaskLease } from '../job.js';
import { jobsLimits } from '../limits.js';
import { LatestChanges, type LatestView } from '../memory/latest-changes.js';
import type { Progress } from '../progress.js';
import { defaultState, type Scope, type State, withoutPayload } from '../state.js';
import { stateBytes } from './state-bytes.js';

export class JobCache {
  readonly #aggregates: JobCells;
  readonly #latest = new LatestChanges<JobChange>();
  readonly #states = new Map<string, State>();
  readonly #leases = new Map<number, TaskLease>();
  readonly #first: JobRow;
  #info: JobInfo;
  #head: HeadRow = { revision: 0, timestampMs: 0, statesCount: 0 };
  #bytes = 0;

  constructor(job: JobRow) {
    this.#first = job;
    this.#info = jobInfoOf(job, this.#head);
    this.#aggregates = new JobCells(job);
  }

  get incarnation(): string {
    return this.#first.incarnation;
  }

  get revision(): number {
    return this.#head.revision;
  }

  get info(): JobInfo {
    const { revision, timestampMs } = this.#head;
    return { ...this.#info, revision, changedAtMs: timestampMs };
  }

  /** About. */
  get bytes(): number {
    return this.#bytes + this.#aggregates.bytes;
  }

  /** Returns what rose, ascending. */
  apply(changes: readonly JobChange[]): readonly JobChange[] {
    const { revision } = this.#head;
    const risen = changes
      .filter((change) => change.revision > revision)
      .sort((a, b) => a.revision - b.revision);
    for (const change of risen) this.#put(change);
    return risen;
  }

  /** Versions of states that were overwritten before this cache saw them. */
  skippedVersions(changes: readonly JobChange[]): number {
    let skipped = 0;
    for (const change of changes) {
      if (change.kind !== 'state') continue;
      const { taskId, tag, version } = change.state;
      const known = this.stateOf(taskId, tag)?.version;
      if (known !== undefined && version > known + 1) skipped += version - known - 1;
    }
    return skipped;
  }

  stateOf(taskId: number, tag: string): State | undefined {
    return this.#states.get(keyOf(taskId, tag));
  }

  progress(scope: Scope): Progress {
    const { jobId } = this.#first;
    const stateOf = ({ taskId, tag }: Cell) =>
      this.stateOf(taskId, tag) ?? defaultState(jobId, taskId, tag);
    const source = { revision: this.revision, stateOf, withoutPayload };
    const all = this.#aggregates.recount().all(this.#info);
    return progressOf(source, this.#aggregates.summary(scope, all));
  }

  lost(): readonly TaskLease[] {
    return [...this.#aggregates.lostTasks]
      .sort((a, b) => a - b)
      .slice(0, jobsLimits.lostListMax.value)
      .flatMap((taskId) => this.#leases.get(taskId) ?? []);
  }

  /** What is there now. */
  view(): LatestView<JobChange> {
    return this.#latest.view();
  }

  /** The lease of a task that could be lost: held, with a time to live, and work that is not done. */
  leaseAtRisk(taskId: number): TaskLease | undefined {
    const lease = this.#leases.get(taskId);
    const isAtRisk = lease?.state === 'held' && lease.ttlMs > 0;
    return isAtRisk && this.#aggregates.hasUnfinished(taskId) ? lease : undefined;
  }

  /** Of the leases that are held. Undefined: none of them expires. */
  shortestTtlMs(): number | undefined {
    let shortest: number | undefined;
    for (const { state, ttlMs } of this.#leases.values()) {
      if (state !== 'held' || ttlMs === 0) continue;
      shortest = Math.min(shortest ?? ttlMs, ttlMs);
    }
    return shortest;
  }

  #put(change: JobChange): void {
    const { revision, timestampMs } = change;
    this.#head = {
      ...this.#head,
      revision,
      timestampMs: Math.max(this.#head.timestampMs, timestampMs),
    };
    this.#latest.put(latestKey(change), change);
    switch (change.kind) {
      case 'state':
        this.#putState(change.state);
        break;
      case 'lease':
        this.#leases.set(change.lease.taskId, change.lease);
        this.#aggregates.setLost(change.lease.taskId, change.lease.state === 'lost');
        break;
      case 'job':
        this.#info = change.job;
        this.#aggregates.setExpectedTags(change.job.expectedTags);
        break;
    }
  }

  #putState(state: State): void {
    const { taskId, tag, status, progress } = state;
    const key = keyOf(taskId, tag);
    const before = this.#states.get(key);
    this.#bytes += stateBytes(state) - (before ? stateBytes(before) : 0);
    this.#states.set(key, state);
    this.#aggregates.set(state, status, progress);
  }
}

function keyOf(taskId: number, tag: string): string {
  return `${taskId} ${tag}`;
}

function latestKey(change: JobChange): string {
  if (change.kind === 'state') return keyOf(change.state.taskId, change.state.tag);
  return change.kind === 'lease' ? String(change.lease.taskId) : '';
}

// One incarnation of a job in the simplest form: an array of all its changes. Every result is recomputed from that
// array, so nothing can get out of sync. Real stores are compared with it.
import { isDeepStrictEqual } from 'node:util';
import { SynclineError } from '@syncline/kernel';
import { checkTaskId } from '../../checks/values.js';
import type { JobInfo, JobPatch, JobSpec, LeaseRequest, Progress, TaskLease } from '../../job.js';
import { compareTags, defaultState, type Scope, type State, statusClass } from '../../job.js';
import type { SetStateResult, StateWrite } from '../../job-store.js';
import { jobsLimits } from '../../limits.js';
import { foldStates } from '../naive-fold.js';
import type { JobChange } from '../trace/keys.js';
import { isInScope, keyOfState } from '../trace/keys.js';

export class ReferenceJob {
  /** The change with revision r is at index r − 1. */
  readonly changes: JobChange[] = [];
  /** Superseded changes up to here may be withheld from subscribers that resume. */
  compactedTo = 0;
  isGone = false;
  readonly #listeners = new Set<() => void>();

  constructor(spec: JobSpec, incarnation: string, nowMs: number) {
    this.#commitJob(nowMs, {
      jobId: spec.jobId,
      incarnation,
      numTasks: spec.numTasks,
      expectedTags: sortedTags(spec.expectedTags ?? []),
      labels: { ...spec.labels },
      createdAtMs: nowMs,
    });
  }

  get revision(): number {
    return this.changes.length;
  }

  info(): JobInfo {
    const last = this.changes.findLast((change) => change.kind === 'job');
    if (last?.kind !== 'job') throw new Error('a job begins with its metadata');
    const { revision, timestampMs } = this.#last();
    return { ...last.job, revision, changedAtMs: timestampMs };
  }

  /** The latest state of each key, ascending by revision. */
  states(scope: Scope = {}): readonly State[] {
    const latest = new Map<string, State>();
    for (const change of this.changes) {
      if (change.kind !== 'state' || !isInScope(scope, change.state)) continue;
      latest.delete(keyOfState(change.state));
      latest.set(keyOfState(change.state), change.state);
    }
    return [...latest.values()];
  }

  leaseOf(taskId: number): TaskLease | undefined {
    return this.#leases().get(taskId);
  }

  lost(): readonly TaskLease[] {
    const lost = [...this.#leases().values()].filter(({ state }) => state === 'lost');
    return lost.sort((left, right) => left.taskId - right.taskId);
  }

  progress(scope: Scope): Progress {
    const lostTaskIds = new Set(this.lost().map(({ taskId }) => taskId));
    return foldStates({ job: this.info(), states: this.states(), lostTaskIds }, scope);
  }

  update(patch: JobPatch, nowMs: number): JobInfo {
    const { labels, expectedTags } = patch;
    this.#refuseMarked('updated');
    this.#refuseTooManyTags(expectedTags ?? []);
    this.#commitJob(nowMs, {
      ...this.info(),
      ...(labels && { labels: { ...labels } }),
      ...(expectedTags && { expectedTags: sortedTags(expectedTags) }),
    });
    return this.info();
  }

  mark(nowMs: number): JobInfo {
    if (this.info().deletedAtMs === undefined)
      this.#commitJob(nowMs, { ...this.info(), deletedAtMs: this.#timestampMs(nowMs) });
    return this.info();
  }

  /** A renewal of a held lease changes nothing: only its deadline moves, and the store keeps that. */
  lease(request: LeaseRequest, nowMs: number): TaskLease {
    const { taskId, ttlMs, holder, action } = request;
    if (action === 'claim') this.#refuseMarked('claimed');
    this.#checkIncarnation(request);
    const current = this.leaseOf(taskId);
    if (action === 'claim') {
      const epoch = (current?.epoch ?? 0) + 1;
      return this.#commitLease(nowMs, { taskId, epoch, state: 'held', ttlMs, holder });
    }
    if (current?.epoch !== request.epoch) throw fenced('epoch', request.epoch);
    if (action === 'release') {
      if (current.state === 'released') return current;
      return this.#commitLease(nowMs, { ...current, state: 'released' });
    }
    if (current.state === 'lost') return this.#commitLease(nowMs, { ...current, state: 'held' });
    const isEndless = current.state === 'released' || current.ttlMs === 0;
    return { ...current, expiresAtMs: isEndless ? 0 : nowMs + current.ttlMs };
  }

  /** True: the task's deadline has passed and it has work left, so it is lost now. */
  expire(taskId: number, nowMs: number): boolean {
    const current = this.leaseOf(taskId);
    if (current?.state !== 'held') return false;
    const { cells } = this.progress({ taskId });
    if (cells.finished + cells.failed === cells.total) return false;
    this.#commitLease(nowMs, { ...current, state: 'lost' });
    return true;
  }

  setState(write: StateWrite, nowMs: number): SetStateResult {
    const earlier = this.changes.flatMap((change) =>
      change.kind === 'state' && keyOfState(change.state) === keyOfState(write)
        ? [change.state]
        : [],
    );
    const known = earlier
      .slice(-jobsLimits.recentEventIdsMax.value)
      .find(({ eventId }) => eventId === write.eventId);
    if (known) return repeated(known, write);
    this.#refuseMarked('written');
    this.#checkIncarnation(write);
    const lease = this.leaseOf(write.taskId);
    if (lease?.epoch !== write.epoch) throw fenced('epoch', write.epoch);
    const { jobId, taskId, tag } = write;
    const current = earlier.at(-1) ?? defaultState(jobId, taskId, tag);
    if (write.ifVersion !== undefined && write.ifVersion !== current.version)
      return { applied: false, reason: 'version', current };
    this.#refuseTooManyTags([...this.info().expectedTags, tag]);
    if (lease.state === 'lost') this.#commitLease(nowMs, { ...lease, state: 'held' });
    const timestampMs = this.#timestampMs(nowMs);
    const revision = this.revision + 1;
    const state: State = {
      ...contentOf(write),
      jobId,
      taskId,
      tag,
      statusClass: statusClass(write.status),
      eventId: write.eventId,
      timestampMs,
      version: current.version + 1,
      revision,
    };
    this.#commit({ kind: 'state', revision, timestampMs, state });
    return { applied: true, duplicate: false, state };
  }

  /** Notifies everyone who waits that it is over. */
  remove(): void {
    this.isGone = true;
    this.#wake();
  }

  /** Calls back after every change, until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #last(): JobChange {
    const last = this.changes.at(-1);
    if (!last) throw new Error('a job begins with its metadata');
    return last;
  }

  #timestampMs(nowMs: number): number {
    return Math.max(nowMs, this.changes.at(-1)?.timestampMs ?? 0);
  }

  #leases(): ReadonlyMap<number, TaskLease> {
    return new Map(
      this.changes.flatMap((change) =>
        change.kind === 'lease' ? [[change.lease.taskId, change.lease] as const] : [],
      ),
    );
  }

  #refuseMarked(what: string): void {
    if (this.changes.length > 0 && this.info().deletedAtMs !== undefined)
      throw new SynclineError('conflict', `a job that is marked deleted is not ${what}`, {
        details: { reason: 'marked-deleted' },
      });
  }

  #checkIncarnation({ incarnation, taskId }: Pick<StateWrite, 'incarnation' | 'taskId'>): void {
    const { incarnation: current, numTasks } = this.info();
    if (incarnation !== current) throw fenced('incarnation', incarnation);
    checkTaskId(taskId, numTasks);
  }

  #refuseTooManyTags(further: readonly string[]): void {
    const tags = new Set([...further, ...this.states().map((state) => state.tag)]);
    if (tags.size <= jobsLimits.tagsPerJobMax.value) return;
    throw new SynclineError('limit-exceeded', `a job has no room for ${tags.size} tags`, {
      details: { limit: 'tagsPerJobMax' },
    });
  }

  #commitJob(nowMs: number, job: Omit<JobInfo, 'revision' | 'changedAtMs'>): void {
    const timestampMs = this.#timestampMs(nowMs);
    const revision = this.revision + 1;
    const info = { ...job, revision, changedAtMs: timestampMs };
    this.#commit({ kind: 'job', revision, timestampMs, job: info });
  }

  #commitLease(nowMs: number, lease: Omit<TaskLease, 'revision' | 'expiresAtMs'>): TaskLease {
    const timestampMs = this.#timestampMs(nowMs);
    const revision = this.revision + 1;
    const expiresAtMs = lease.state === 'held' && lease.ttlMs > 0 ? nowMs + lease.ttlMs : 0;
    const committed = { ...lease, expiresAtMs, revision };
    this.#commit({ kind: 'lease', revision, timestampMs, lease: committed });
    return committed;
  }

  #commit(change: JobChange): void {
    this.changes.push(change);
    this.#wake();
  }

  #wake(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

/** What makes two writes the same one. */
function contentOf({ status, message, payload, schemaVersion }: StateWrite | State) {
  return { status, message, schemaVersion, ...(payload && { payload: structuredClone(payload) }) };
}

function repeated(known: State, write: StateWrite): SetStateResult {
  if (isDeepStrictEqual(contentOf(known), contentOf(write)))
    return { applied: true, duplicate: true, state: known };
  throw new SynclineError('conflict', `eventId ${write.eventId} was used for another write`, {
    details: { reason: 'event-id' },
  });
}

function fenced(reason: 'incarnation' | 'epoch', value: string | number): SynclineError {
  const message = `a newer owner has taken over: ${reason} ${value} is not the current one`;
  return new SynclineError('fenced', message, { details: { reason } });
}

function sortedTags(tags: readonly string[]): readonly string[] {
  return [...new Set(tags)].sort(compareTags);
}

// One moment of a job, read from a snapshot of the storage: what a replay and a reader who is behind get.
//
// The log ascends by revision, so neither read sorts or holds more than a page. A record is the latest of its
// key if the key's row names its revision. Memory answers that for most records; where memory has moved on
// since the snapshot was taken, the snapshot is asked.
import { type Clock, type StorageSnapshot, SynclineError } from '@syncline/kernel';
import type { JobChange } from '../core/rows.js';
import { jobsLimits } from '../limits.js';
import type { JobFeedView } from '../subscription/job-feed-source.js';
import { type JobFilter, matchesFilter } from '../subscription/job-filter.js';
import type { ViewSlot } from '../subscription/view-slots.js';
import { LogRecord, type RecordSubject } from './change-codec.js';
import { cellKey, jobRange, KeyKind, logKey, logRange, revisionOfKey, taskKey } from './keys.js';
import type { LoadedJob } from './loaded-job.js';
import { namedRevisions } from './named-revisions.js';
import { isCorrupt, readBatches } from './read-rows.js';
import { decodeCellPlace, decodeTask } from './row-codec.js';
import { corruptRow } from './row-reader.js';

export interface JobViewDeps {
  readonly job: LoadedJob;
  /** Taken at a moment at which memory and storage held the same. */
  readonly snapshot: StorageSnapshot;
  readonly clock: Pick<Clock, 'defer'>;
  /** What it takes of the room for views; given back when it is closed. */
  readonly slot: Pick<ViewSlot, 'onWanted'>;
  onClose(): void;
}

export class JobView implements JobFeedView {
  readonly revision: number;
  readonly compactedTo: number;
  readonly #deps: JobViewDeps;
  readonly #filter: JobFilter;
  readonly #metadataRevision: number;
  #named: ReadonlySet<number> | undefined;
  #isClosed = false;

  constructor(deps: JobViewDeps, filter: JobFilter) {
    this.#deps = deps;
    this.#filter = filter;
    this.revision = deps.job.head.revision;
    this.compactedTo = deps.job.head.compactedTo;
    this.#metadataRevision = deps.job.row.metadataRevision;
  }

  /** A narrow scope has few keys: they are looked up. The whole job is a walk along its log. */
  latest(after: number): AsyncIterable<readonly JobChange[]> {
    const { taskId, tag } = this.#filter.scope;
    const isWhole = taskId === undefined && tag === undefined;
    return isWhole ? this.#walk(after, true) : this.#lookUp(after);
  }

  changes(after: number): AsyncIterable<readonly JobChange[]> {
    return this.#walk(after, false);
  }

  onWanted(letGo: () => boolean): void {
    this.#deps.slot.onWanted(letGo);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#deps.snapshot.close();
    this.#deps.onClose();
  }

  get #isUnmoved(): boolean {
    return this.#deps.job.head.revision === this.revision;
  }

  async *#walk(after: number, isLatestOnly: boolean): AsyncGenerator<readonly JobChange[]> {
    const { job, snapshot } = this.#deps;
    if (after >= this.revision) return;
    const range = logRange(job.jobNo, after, this.revision);
    const damaged = async (key: Uint8Array, error: SynclineError) => {
      if (!isLatestOnly || (await this.#isNamed(revisionOfKey(key)))) throw error;
    };
    for await (const entries of readBatches(snapshot, range, damaged)) {
      const page = new Page();
      for (const { key, value } of entries) {
        const record = intactRecord(key, value);
        if (record instanceof SynclineError) {
          await damaged(key, record);
          continue;
        }
        if (!this.#isWanted(record.subject)) continue;
        if (isLatestOnly && !this.#isLatest(record)) continue;
        if (!page.hasRoomFor(value)) yield page.take();
        page.add(record.change(job.logContext), value);
      }
      if (!page.isEmpty) yield page.take();
    }
  }

  /** A damaged record that no row names was replaced: it is the latest of no key. */
  async #isNamed(revision: number): Promise<boolean> {
    const { job, snapshot } = this.#deps;
    if (revision === this.#metadataRevision) return this.#filter.withJob;
    this.#named ??= await namedRevisions(snapshot, job.jobNo, this.#filter);
    return this.#named.has(revision);
  }

  async *#lookUp(after: number): AsyncGenerator<readonly JobChange[]> {
    const { job, snapshot, clock } = this.#deps;
    const revisions = await this.#revisions(after);
    const pageMax = jobsLimits.frameEventsMax.value;
    for (let at = 0; at < revisions.length; at += pageMax) {
      if (at > 0) await new Promise<void>((resolve) => clock.defer(resolve));
      const page = new Page();
      for (const revision of revisions.subarray(at, at + pageMax)) {
        const key = logKey(job.jobNo, revision);
        const bytes = snapshot.get(key);
        if (!bytes) throw corruptRow(key);
        const change = new LogRecord(key, bytes).change(job.logContext);
        if (!matchesFilter(this.#filter, change)) continue;
        if (!page.hasRoomFor(bytes)) yield page.take();
        page.add(change, bytes);
      }
      if (!page.isEmpty) yield page.take();
    }
  }

  /** Of all keys in scope, ascending. */
  async #revisions(after: number): Promise<Float64Array> {
    const { job } = this.#deps;
    const { scope, withLeases, withJob } = this.#filter;
    job.damage.checkScope(scope);
    const states = this.#isUnmoved ? this.#revisionsInMemory() : await this.#revisionsStored();
    const leases = withLeases ? await this.#leaseRevisions() : [];
    const metadata = withJob ? [this.#metadataRevision] : [];
    const revisions = states.concat(leases, metadata).filter((revision) => revision > after);
    return Float64Array.from(revisions).sort();
  }

  #revisionsInMemory(): number[] {
    const { tags, places } = this.#deps.job;
    const { taskId, tag } = this.#filter.scope;
    if (tag === undefined) return taskId === undefined ? [] : places.revisionsOfTask(taskId, 0);
    const tagNo = tags.numberOf(tag);
    if (tagNo === undefined) return [];
    return taskId === undefined ? places.revisionsOfTag(tagNo, 0) : [places.get(tagNo, taskId)];
  }

  async #revisionsStored(): Promise<number[]> {
    const { job } = this.#deps;
    const { taskId, tag } = this.#filter.scope;
    if (tag === undefined) {
      const tagNos = [...job.tags.entries()].map(([, tagNo]) => tagNo);
      return taskId === undefined ? [] : tagNos.map((tagNo) => this.#storedPlace(tagNo, taskId));
    }
    const tagNo = job.tags.numberOf(tag);
    if (tagNo === undefined) return [];
    return taskId === undefined
      ? this.#storedPlacesOfTag(tagNo)
      : [this.#storedPlace(tagNo, taskId)];
  }

  async #storedPlacesOfTag(tagNo: number): Promise<number[]> {
    const { job, snapshot } = this.#deps;
    const revisions: number[] = [];
    const range = { from: cellKey(job.jobNo, tagNo, 0), to: cellKey(job.jobNo, tagNo + 1, 0) };
    for await (const entries of snapshot.range(range).batches()) {
      for (const { key, value } of entries) revisions.push(decodeCellPlace(key, value).revision);
    }
    return revisions;
  }

  /** 0: never written. */
  #storedPlace(tagNo: number, taskId: number): number {
    const key = cellKey(this.#deps.job.jobNo, tagNo, taskId);
    const bytes = this.#deps.snapshot.get(key);
    return bytes ? decodeCellPlace(key, bytes).revision : 0;
  }

  async #leaseRevisions(): Promise<number[]> {
    const { job, snapshot } = this.#deps;
    const { taskId } = this.#filter.scope;
    if (taskId !== undefined) return [this.#storedLease(taskId)];
    const revisions: number[] = [];
    for await (const entries of snapshot.range(jobRange(KeyKind.task, job.jobNo)).batches()) {
      for (const { key, value } of entries) revisions.push(decodeTask(key, value, 0).revision);
    }
    return revisions;
  }

  #storedLease(taskId: number): number {
    const key = taskKey(this.#deps.job.jobNo, taskId);
    const bytes = this.#deps.snapshot.get(key);
    return bytes ? decodeTask(key, bytes, taskId).revision : 0;
  }

  #isWanted(subject: RecordSubject): boolean {
    const { scope, withLeases, withJob } = this.#filter;
    if (subject.kind === 'job') return withJob;
    if (scope.taskId !== undefined && scope.taskId !== subject.taskId) return false;
    if (subject.kind === 'lease') return withLeases;
    return scope.tag === undefined || this.#deps.job.tags.numberOf(scope.tag) === subject.tagNo;
  }

  #isLatest({ subject, revision }: LogRecord): boolean {
    const { job } = this.#deps;
    switch (subject.kind) {
      case 'state': {
        const { tagNo, taskId } = subject;
        if (job.places.get(tagNo, taskId) === revision) return true;
        const tag = job.tags.nameOf(tagNo);
        job.damage.checkScope({ taskId, ...(tag !== undefined && { tag }) });
        return !this.#isUnmoved && this.#storedPlace(tagNo, taskId) === revision;
      }
      case 'lease':
        if (job.tasks.get(subject.taskId)?.revision === revision) return true;
        return !this.#isUnmoved && this.#storedLease(subject.taskId) === revision;
      case 'job':
        return revision === this.#metadataRevision;
    }
  }
}

/** Bounded by bytes: a reader that stalls keeps the page that it was given. */
class Page {
  #changes: JobChange[] = [];
  #bytes = 0;

  get isEmpty(): boolean {
    return this.#changes.length === 0;
  }

  /** `record`: the change as it is stored, which is about as large. One change always has room. */
  hasRoomFor(record: Uint8Array): boolean {
    return this.isEmpty || this.#bytes + record.length <= jobsLimits.frameBytesMax.value;
  }

  add(change: JobChange, record: Uint8Array): void {
    this.#changes.push(change);
    this.#bytes += record.length;
  }

  take(): readonly JobChange[] {
    const changes = this.#changes;
    this.#changes = [];
    this.#bytes = 0;
    return changes;
  }
}

/** The record, or what is wrong with it. */
function intactRecord(key: Uint8Array, value: Uint8Array): LogRecord | SynclineError {
  try {
    return new LogRecord(key, value);
  } catch (thrown) {
    if (isCorrupt(thrown)) return thrown;
    throw thrown;
  }
}

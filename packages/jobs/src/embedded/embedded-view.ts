// One moment of a job, read from a snapshot of the storage: what a replay and a reader that is behind get.
//
// The log ascends by revision, so neither read sorts or holds more than a page. A record is the latest of its key if
// the row of the key names its revision. Memory answers that for most records; where memory has moved on since the
// snapshot was taken, the snapshot is asked.
import { type Clock, type StorageSnapshot, SynclineError } from '@syncline/kernel';
import { type JobFilter, matchesFilter } from '../engine/job-filter.js';
import type { MirroredJob, StoreView } from '../engine/store-adapter.js';
import type { StoredChange } from '../engine/stored-change.js';
import { jobsLimits } from '../limits.js';
import { cellKey, jobRange, KeyKind, logKey, logRange, revisionOfKey, taskKey } from './keys.js';
import type { EmbeddedHandle } from './load-rows.js';
import { isCorrupt, readBatches } from './read-rows.js';
import { corruptRow, decodeCell, decodeRecord, decodeRow, taskRow } from './rows.js';

export interface EmbeddedViewDeps {
  readonly job: MirroredJob<EmbeddedHandle>;
  /** Taken at a moment at which memory and storage held the same. */
  readonly snapshot: StorageSnapshot;
  readonly clock: Pick<Clock, 'defer'>;
}

export class EmbeddedView implements StoreView {
  readonly revision: number;
  readonly compactedTo: number;
  readonly #deps: EmbeddedViewDeps;
  readonly #metadataRevision: number;
  /** Those that rows name; read only when a record is damaged. */
  #named: ReadonlySet<number> | undefined;

  constructor(deps: EmbeddedViewDeps) {
    this.#deps = deps;
    this.revision = deps.job.head.revision;
    this.compactedTo = deps.job.head.compactedTo;
    this.#metadataRevision = deps.job.row.metadataRevision;
  }

  /** A narrow scope has few keys: they are looked up. The whole job is a walk along its log. */
  latest(filter: JobFilter, after: number): AsyncIterable<readonly StoredChange[]> {
    const { taskId, tag } = filter.scope;
    const isWhole = taskId === undefined && tag === undefined;
    return isWhole ? this.#walk(filter, after, 'latest') : this.#lookUp(filter, after);
  }

  changes(
    filter: JobFilter,
    after: number,
    onDamaged?: (revision: number) => void,
  ): AsyncIterable<readonly StoredChange[]> {
    return this.#walk(filter, after, 'all', onDamaged);
  }

  close(): void {
    this.#deps.snapshot.close();
  }

  get #isUnmoved(): boolean {
    return this.#deps.job.head.revision === this.revision;
  }

  async *#walk(
    filter: JobFilter,
    after: number,
    wanted: 'all' | 'latest',
    onDamaged?: (revision: number) => void,
  ): AsyncGenerator<readonly StoredChange[]> {
    const { job, snapshot } = this.#deps;
    if (after >= this.revision) return;
    const range = logRange(job.handle.jobNo, after, this.revision);
    const damaged = async (key: Uint8Array, error: SynclineError) => {
      const revision = revisionOfKey(key);
      if (onDamaged) onDamaged(revision);
      else if (wanted === 'all' || (await this.#isNamed(filter, revision))) throw error;
    };
    for await (const entries of readBatches(snapshot, range, damaged)) {
      const page = new Page();
      for (const { key, value } of entries) {
        const change = intactRecord(key, value);
        if (change instanceof SynclineError) {
          await damaged(key, change);
          continue;
        }
        if (!matchesFilter(filter, change)) continue;
        if (wanted === 'latest' && !this.#isLatest(change)) continue;
        if (!page.hasRoomFor(change)) yield page.take();
        page.add(change);
      }
      if (!page.isEmpty) yield page.take();
    }
  }

  async *#lookUp(filter: JobFilter, after: number): AsyncGenerator<readonly StoredChange[]> {
    const { job, snapshot, clock } = this.#deps;
    const revisions = (await this.#revisions(filter)).filter((revision) => revision > after);
    const ascending = Float64Array.from(revisions).sort();
    const pageMax = jobsLimits.frameEventsMax.value;
    for (let at = 0; at < ascending.length; at += pageMax) {
      if (at > 0) await new Promise<void>((resolve) => clock.defer(resolve));
      const page = new Page();
      for (const revision of ascending.subarray(at, at + pageMax)) {
        const key = logKey(job.handle.jobNo, revision);
        const bytes = snapshot.get(key);
        if (!bytes) throw corruptRow(key);
        const change = decodeRecord(key, bytes);
        if (!matchesFilter(filter, change)) continue;
        if (!page.hasRoomFor(change)) yield page.take();
        page.add(change);
      }
      if (!page.isEmpty) yield page.take();
    }
  }

  /** Of the latest changes in scope, in no order. */
  async #revisions({ scope, withLeases, withJob }: JobFilter): Promise<readonly number[]> {
    const { job } = this.#deps;
    const states = this.#isUnmoved ? [...job.revisions(scope)] : await this.#storedRevisions(scope);
    const leases = withLeases ? await this.#leaseRevisions(scope.taskId) : [];
    return [...states, ...leases, ...(withJob ? [this.#metadataRevision] : [])];
  }

  async #storedRevisions({ taskId, tag }: JobFilter['scope']): Promise<readonly number[]> {
    const { tags } = this.#deps.job.handle;
    const names = tag === undefined ? tags.names() : [tag];
    if (taskId !== undefined) return names.map((name) => this.#storedState(taskId, name));
    const tagNo = tag === undefined ? undefined : tags.numberOf(tag);
    return tagNo === undefined ? [] : await this.#storedOfTag(tagNo);
  }

  async #storedOfTag(tagNo: number): Promise<readonly number[]> {
    const { job, snapshot } = this.#deps;
    const { jobNo } = job.handle;
    const range = { from: cellKey(jobNo, tagNo, 0), to: cellKey(jobNo, tagNo + 1, 0) };
    const revisions: number[] = [];
    for await (const entries of snapshot.range(range).batches()) {
      for (const { key, value } of entries)
        revisions.push(decodeCell(key, value, false).row.revision);
    }
    return revisions;
  }

  async #leaseRevisions(taskId: number | undefined): Promise<readonly number[]> {
    const { job, snapshot } = this.#deps;
    if (taskId !== undefined) return [this.#storedLease(taskId)];
    const revisions: number[] = [];
    const range = jobRange(KeyKind.task, job.handle.jobNo);
    for await (const entries of snapshot.range(range).batches()) {
      for (const { key, value } of entries) revisions.push(decodeRow(taskRow, key, value).revision);
    }
    return revisions;
  }

  /** 0: never written. */
  #storedState(taskId: number, tag: string): number {
    const { job, snapshot } = this.#deps;
    const tagNo = job.handle.tags.numberOf(tag);
    if (tagNo === undefined) return 0;
    const key = cellKey(job.handle.jobNo, tagNo, taskId);
    const bytes = snapshot.get(key);
    return bytes ? decodeCell(key, bytes, false).row.revision : 0;
  }

  #storedLease(taskId: number): number {
    const { job, snapshot } = this.#deps;
    const key = taskKey(job.handle.jobNo, taskId);
    const bytes = snapshot.get(key);
    return bytes ? decodeRow(taskRow, key, bytes).revision : 0;
  }

  #isLatest({ kind, taskId, tag, revision }: StoredChange): boolean {
    const { job } = this.#deps;
    if (kind === 'job') return revision === this.#metadataRevision;
    if (job.latestRevision(kind, taskId, tag) === revision) return true;
    if (kind === 'state') job.handle.checkCell(taskId, tag);
    if (this.#isUnmoved) return false;
    const stored = kind === 'state' ? this.#storedState(taskId, tag) : this.#storedLease(taskId);
    return stored === revision;
  }

  /** A damaged record that no row names was replaced: it is the latest of no key. */
  async #isNamed(filter: JobFilter, revision: number): Promise<boolean> {
    if (revision === this.#metadataRevision) return filter.withJob;
    this.#named ??= await this.#namedRevisions(filter.withLeases);
    return this.#named.has(revision);
  }

  async #namedRevisions(withLeases: boolean): Promise<ReadonlySet<number>> {
    const { job, snapshot } = this.#deps;
    const revisions = new Set(withLeases ? await this.#leaseRevisions(undefined) : []);
    const range = jobRange(KeyKind.cell, job.handle.jobNo);
    for await (const entries of snapshot.range(range).batches()) {
      for (const { key, value } of entries)
        revisions.add(decodeCell(key, value, false).row.revision);
    }
    return revisions;
  }
}

/** Bounded by bytes: a reader that stalls keeps the page that it was given. */
class Page {
  #changes: StoredChange[] = [];
  #bytes = 0;

  get isEmpty(): boolean {
    return this.#changes.length === 0;
  }

  /** One change always has room. */
  hasRoomFor({ bytes }: StoredChange): boolean {
    return this.isEmpty || this.#bytes + bytes.length <= jobsLimits.frameBytesMax.value;
  }

  add(change: StoredChange): void {
    this.#changes.push(change);
    this.#bytes += change.bytes.length;
  }

  take(): readonly StoredChange[] {
    const changes = this.#changes;
    this.#changes = [];
    this.#bytes = 0;
    return changes;
  }
}

/** The change, or what is wrong with it. */
function intactRecord(key: Uint8Array, value: Uint8Array): StoredChange | SynclineError {
  try {
    return decodeRecord(key, value);
  } catch (thrown) {
    if (isCorrupt(thrown)) return thrown;
    throw thrown;
  }
}

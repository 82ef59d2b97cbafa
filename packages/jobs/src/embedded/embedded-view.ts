// A job at one point in time, read from a storage snapshot, for replays and for readers that have fallen behind.
//
// The log is ordered by revision, so neither read sorts or holds more than a page. A record is the latest of its key if
// the key's row has its revision. For most records this is known from memory; where memory has changed since the
// snapshot was taken, the row is read from the snapshot.
import { type Clock, type StorageSnapshot, SynclineError } from '@syncline/kernel';
import {
  type ChangeSubject,
  type JobFilter,
  matchesFilter,
  type StoredChange,
} from '../engine/changes.js';
import type { MirroredJob, StoreView } from '../engine/store-adapter.js';
import { jobsLimits } from '../limits.js';
import { type EmbeddedHandle, isCorrupt, readBatches, tagNoOf } from './load-rows.js';
import * as rows from './rows.js';

export interface EmbeddedViewDeps {
  readonly job: MirroredJob<EmbeddedHandle>;
  readonly filter: JobFilter;
  /** Taken while memory and storage were in sync. */
  readonly snapshot: StorageSnapshot;
  readonly clock: Pick<Clock, 'defer'>;
}

export class EmbeddedView implements StoreView {
  readonly revision: number;
  readonly compactedTo: number;
  readonly #deps: EmbeddedViewDeps;
  readonly #metadataRevision: number;
  #named: ReadonlySet<number> | undefined;

  constructor(deps: EmbeddedViewDeps) {
    this.#deps = deps;
    this.revision = deps.job.head.revision;
    this.compactedTo = deps.job.head.compactedTo;
    this.#metadataRevision = deps.job.row.metadataRevision;
  }

  /** A narrow scope has few keys, which are looked up. For the whole job, the log is scanned. */
  latest(after: number): AsyncIterable<readonly StoredChange[]> {
    const { taskId, tag } = this.#deps.filter.scope;
    const isWhole = taskId === undefined && tag === undefined;
    return isWhole ? this.#walk(after, 'latest') : this.#lookUp(after);
  }

  changes(
    after: number,
    onDamaged?: (revision: number) => void,
  ): AsyncIterable<readonly StoredChange[]> {
    return this.#walk(after, 'all', onDamaged);
  }

  close(): void {
    this.#deps.snapshot.close();
  }

  async *#walk(
    after: number,
    wanted: 'all' | 'latest',
    onDamaged?: (revision: number) => void,
  ): AsyncGenerator<readonly StoredChange[]> {
    const { job, filter, snapshot } = this.#deps;
    if (after >= this.revision) return;
    const range = rows.logRange(job.handle.jobNo, after, this.revision);
    const damaged = (key: Uint8Array, error: SynclineError) => {
      const revision = rows.revisionOfKey(key);
      if (onDamaged) onDamaged(revision);
      else if (wanted === 'all' || this.#revisions().has(revision)) throw error;
    };
    for await (const batch of readBatches(snapshot, range)) {
      const page: StoredChange[] = [];
      for (const { key, value } of batch) {
        const change = value instanceof SynclineError ? value : intactRecord(key, value);
        if (change instanceof SynclineError) damaged(key, change);
        else if (!matchesFilter(filter, change)) continue;
        else if (wanted === 'all' || this.#latestOf(change) === change.revision) page.push(change);
      }
      yield* pagesOf(page);
    }
  }

  async *#lookUp(after: number): AsyncGenerator<readonly StoredChange[]> {
    const { job, snapshot, clock } = this.#deps;
    const revisions = [...this.#revisions()].filter((revision) => revision > after);
    const ascending = Float64Array.from(revisions).sort();
    const pageMax = jobsLimits.frameEventsMax.value;
    for (let at = 0; at < ascending.length; at += pageMax) {
      if (at > 0) await new Promise<void>((resolve) => clock.defer(resolve));
      const page: StoredChange[] = [];
      for (const revision of ascending.subarray(at, at + pageMax)) {
        const key = rows.logKey(job.handle.jobNo, revision);
        const bytes = snapshot.get(key);
        if (!bytes) throw rows.corruptRow(key);
        page.push(rows.decodeRecord(key, bytes));
      }
      yield* pagesOf(page);
    }
  }

  /** The revisions of the latest changes that match the filter. A damaged record not among them was replaced. */
  #revisions(): ReadonlySet<number> {
    const { job, filter } = this.#deps;
    this.#named ??= new Set(Array.from(job.subjects(filter), (subject) => this.#latestOf(subject)));
    return this.#named;
  }

  /** The revision of the latest change of a subject in this view, or 0 if there is none. */
  #latestOf({ kind, taskId, tag }: ChangeSubject): number {
    const { job, snapshot } = this.#deps;
    if (kind === 'job') return this.#metadataRevision;
    const revision = job.latestRevision(kind, taskId, tag);
    if (revision <= this.revision) return revision;
    const { jobNo } = job.handle;
    if (kind === 'lease') {
      const key = rows.taskKey(jobNo, taskId);
      const bytes = snapshot.get(key);
      return bytes ? rows.decodeRow(rows.taskRow, key, bytes).revision : 0;
    }
    const key = rows.cellKey(jobNo, tagNoOf(job.handle, tag), taskId);
    const bytes = snapshot.get(key);
    return bytes ? rows.decodeCell(key, bytes, false).revision : 0;
  }
}

/** Pages bounded by bytes: a reader that stalls holds its page in memory. */
function* pagesOf(changes: readonly StoredChange[]): Generator<readonly StoredChange[]> {
  let start = 0;
  let pageBytes = 0;
  for (const [at, { bytes }] of changes.entries()) {
    pageBytes += bytes.length;
    if (pageBytes <= jobsLimits.frameBytesMax.value || at === start) continue;
    yield changes.slice(start, at);
    start = at;
    pageBytes = bytes.length;
  }
  if (start < changes.length) yield changes.slice(start);
}

function intactRecord(key: Uint8Array, value: Uint8Array): StoredChange | SynclineError {
  try {
    return rows.decodeRecord(key, value);
  } catch (thrown) {
    if (isCorrupt(thrown)) return thrown;
    throw thrown;
  }
}

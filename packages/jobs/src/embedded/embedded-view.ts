// A job at one point in time, read from a storage snapshot, for replays and for readers that have fallen behind.
//
// The log is ordered by revision, so neither read sorts or holds more than a page. A record is the latest of its key if
// the key's row has its revision. For most records this is known from memory; where memory has changed since the
// snapshot was taken, the row is read from the snapshot.
import { type Clock, type StorageSnapshot, SynclineError } from '@syncline/kernel';
import type { ChangeSubject, JobFilter, StoredChange } from '../engine/changes.js';
import { matchesFilter } from '../engine/changes.js';
import type { MirroredJob, StoreView } from '../engine/store-adapter.js';
import { limitValues } from '../limits.js';
import { decodeOrError, type EmbeddedHandle, readBatches, tagNoOf } from './load-rows.js';
import * as rows from './rows.js';

type Pages = AsyncGenerator<readonly StoredChange[]>;

/** The snapshot must be taken while memory and storage are in sync. */
export function embeddedView(
  job: MirroredJob<EmbeddedHandle>,
  filter: JobFilter,
  snapshot: StorageSnapshot,
  clock: Pick<Clock, 'defer'>,
): StoreView {
  const { revision: last, compactedTo } = job.head;
  const { metadataRevision } = job.row;
  const { jobNo } = job.handle;
  let named: ReadonlySet<number> | undefined;

  /** 0 if there is none. */
  const latestOf = ({ kind, taskId, tag }: ChangeSubject): number => {
    if (kind === 'job') return metadataRevision;
    const revision = job.latestRevision(kind, taskId, tag);
    if (revision <= last) return revision;
    if (kind === 'lease')
      return rows.readRow(snapshot, rows.taskRow, rows.taskKey(jobNo, taskId))?.revision ?? 0;
    const key = rows.cellKey(jobNo, tagNoOf(job.handle, tag), taskId);
    const bytes = snapshot.get(key);
    return bytes ? rows.decodeCell(key, bytes, false).revision : 0;
  };

  /** The revisions of the latest changes that match the filter. A damaged record not among them was replaced. */
  const latestRevisions = (): ReadonlySet<number> => {
    named ??= new Set(Array.from(job.subjects(filter), latestOf));
    return named;
  };

  async function* walk(
    after: number,
    onDamaged: (revision: number, error: SynclineError) => void,
    isWanted: (change: StoredChange) => boolean = () => true,
  ): Pages {
    if (after >= last) return;
    for await (const batch of readBatches(snapshot, rows.logRange(jobNo, after, last))) {
      const page: StoredChange[] = [];
      for (const row of batch) {
        const change = decodeOrError(row, rows.decodeRecord);
        if (change instanceof SynclineError) onDamaged(rows.revisionOfKey(row.key), change);
        else if (matchesFilter(filter, change) && isWanted(change)) page.push(change);
      }
      yield* pagesOf(page);
    }
  }

  async function* lookUp(after: number): Pages {
    const revisions = [...latestRevisions()].filter((revision) => revision > after);
    const ascending = Float64Array.from(revisions).sort();
    const pageMax = limitValues.frameEventsMax;
    for (let at = 0; at < ascending.length; at += pageMax) {
      if (at > 0) await new Promise<void>((resolve) => clock.defer(resolve));
      const page = Array.from(ascending.subarray(at, at + pageMax), (revision) => {
        const key = rows.logKey(jobNo, revision);
        const bytes = snapshot.get(key);
        if (!bytes) throw rows.corruptRow(key);
        return rows.decodeRecord(key, bytes);
      });
      yield* pagesOf(page);
    }
  }

  return {
    revision: last,
    compactedTo,
    /** A narrow scope has few keys, which are looked up. For the whole job, the log is scanned. */
    latest(after) {
      const { taskId, tag } = filter.scope;
      if (taskId !== undefined || tag !== undefined) return lookUp(after);
      const onDamaged = (revision: number, error: SynclineError) => {
        if (latestRevisions().has(revision)) throw error;
      };
      return walk(after, onDamaged, (change) => latestOf(change) === change.revision);
    },
    changes: (after, onDamaged) =>
      walk(after, (revision, error) => {
        if (!onDamaged) throw error;
        onDamaged(revision);
      }),
    close: () => snapshot.close(),
  };
}

/** Pages bounded by bytes: a reader that stalls holds its page in memory. */
function* pagesOf(changes: readonly StoredChange[]): Generator<readonly StoredChange[]> {
  let start = 0;
  let pageBytes = 0;
  for (const [at, { bytes }] of changes.entries()) {
    pageBytes += bytes.length;
    if (pageBytes <= limitValues.frameBytesMax || at === start) continue;
    yield changes.slice(start, at);
    start = at;
    pageBytes = bytes.length;
  }
  if (start < changes.length) yield changes.slice(start);
}

// A listener's view of one incarnation of a job: the latest change of each key as of the last snapshot, which contains
// everything committed up to its time. Two documents may be committed in the same microsecond: they are ordered by id,
// and the second one counts as one microsecond later, so that revisions rise strictly.
import type { DocumentSnapshot } from '@google-cloud/firestore';
import { CellCounts } from '../engine/cell-counts.js';
import * as changes from '../engine/changes.js';
import type { JobFeedView } from '../engine/job-feed.js';
import { JobMirror } from '../engine/job-mirror.js';
import type { Scope } from '../job.js';
import { limitValues } from '../limits.js';
import { commitOf, JOB_COPY, mustRenew, readChange, readJob, stateId } from './job-documents.js';

/** Approximate overhead of a change, excluding its bytes. */
const CHANGE_BYTES = 300;
/** Firestore keeps only the latest change of each key. */
const NO_LOG = { compactedTo: 0, logRecords: 0 };
/** Nothing is compacted here, so no marks are kept for it. */
const NO_RETENTION = {
  retentionRevisionsMax: Number.POSITIVE_INFINITY,
  retentionMs: Number.POSITIVE_INFINITY,
  retentionBytesMax: Number.POSITIVE_INFINITY,
};

type Seen = Readonly<{ commit: number; version: number; change: changes.StoredChange }>;

export class JobPicture extends JobMirror {
  /** By document, in order of revision. */
  readonly #latest = new Map<string, Seen>();
  /** The latest commit seen. */
  commit = 0;
  #changesBytes = 0;

  /** Built from all documents in `states`. Undefined if the job does not exist. */
  static of(documents: readonly DocumentSnapshot[]): JobPicture | undefined {
    const metadata = documents.find(({ id }) => id === JOB_COPY);
    const row = metadata && readJob(metadata)?.row;
    if (!row) return undefined;
    const counts = new CellCounts(row.numTasks);
    const head = { revision: 0, timestampMs: 0, ...NO_LOG, counts };
    const rows = { row, head, tasks: [], cells: [], handle: undefined };
    const picture = new JobPicture(rows, NO_RETENTION);
    picture.apply(documents);
    return picture;
  }

  override get bytes(): number {
    return super.bytes + this.#changesBytes;
  }

  /** Infinity if no lease can expire. */
  get shortestTtlMs(): number {
    const held = [...this.tasks.values()].filter(mustRenew);
    return held.reduce((least, { ttlMs }) => Math.min(least, ttlMs), Number.POSITIVE_INFINITY);
  }

  /** Returns the new changes, in order of revision, and how many versions were overwritten before they were seen. */
  apply(documents: readonly DocumentSnapshot[]) {
    let { revision } = this.head;
    let skippedVersions = 0;
    const fresh: changes.StoredChange[] = [];
    const newer = documents
      .filter((document) => commitOf(document) > (this.#latest.get(document.id)?.commit ?? 0))
      .sort((a, b) => commitOf(a) - commitOf(b) || (a.id < b.id ? -1 : 1));
    for (const document of newer) {
      const { id } = document;
      const commit = commitOf(document);
      const read = readChange(document, Math.max(commit, revision + 1));
      if (read?.incarnation !== this.row.incarnation) continue;
      const { change, recent } = read;
      const [{ version }] = recent;
      const before = this.#latest.get(id);
      skippedVersions += version - (before?.version ?? version - 1) - 1;
      this.#changesBytes += change.bytes.length - (before?.change.bytes.length ?? -CHANGE_BYTES);
      this.#latest.delete(id); // moves it to the end
      this.#latest.set(id, { commit, version, change });
      this.commit = Math.max(this.commit, commit);
      ({ revision } = change);
      fresh.push(change);
    }
    if (fresh.length > 0) this.follow({ kind: 'changes', changes: fresh, ...NO_LOG });
    return { fresh, skippedVersions };
  }

  /** The State message of a cell; undefined if it was never written. */
  state({ taskId, tag }: Required<Scope>): Uint8Array | undefined {
    return this.#latest.get(stateId(taskId, tag))?.change.bytes;
  }

  view(filter: changes.JobFilter): JobFeedView {
    const latest = Array.from(this.#latest.values(), ({ change }) => change);
    const all = latest.filter((change) => changes.matchesFilter(filter, change)); // a stalled reader holds no others
    const { listStatesMax: pageMax } = limitValues;
    async function* pages(after: number) {
      const wanted = all.filter((change) => change.revision > after);
      for (let at = 0; at < wanted.length; at += pageMax) yield wanted.slice(at, at + pageMax);
    }
    const { revision, compactedTo } = this.head;
    return { revision, compactedTo, latest: pages, changes: pages, close() {} };
  }
}

// Commits operations of one job in one transaction, and reads back when that was.
//
// J1   Every commit of a job reads and writes its job document, so commits of a job come one after the other.
// J19  The timestamp of a change is the one that Firestore puts into the documents of its commit; every reader takes
//      it from there. Their update time is another one, somewhat later.

import { SynclineError } from '@syncline/kernel';
import type { JobChange } from '../core/rows.js';
import { outcomeUnknown } from '../outcome-unknown.js';
import { DocumentFields } from './document-fields.js';
import type { JobDocuments } from './document-refs.js';
import type { FirestoreCalls } from './firestore-calls.js';
import { type CommitAnchor, GroupRows } from './group-rows.js';
import type { JobOperation } from './job-operation.js';
import { readStateDocument } from './state-document.js';

export interface CommitGroupDeps {
  readonly calls: FirestoreCalls;
  readonly documents: JobDocuments;
}

/** What was committed, stamped. */
export type JobCommit = Readonly<{
  incarnation: string;
  /** The revision of the job before. */
  revisionBefore: number;
  changes: readonly JobChange[];
}>;

export type SeenJob = Readonly<{ incarnation: string; revision: number }>;

export type GroupAnswer<T> =
  | Readonly<{ kind: 'answer'; answer: T }>
  | Readonly<{ kind: 'refused'; error: SynclineError }>;

export type GroupResult<T> = Readonly<{
  answers: readonly GroupAnswer<T>[];
  /** Undefined: nothing changed. */
  commit: JobCommit | undefined;
  /** The job as the transaction left it. Undefined: there is none. */
  seen: SeenJob | undefined;
}>;

type Decided<T> =
  | Readonly<{ kind: 'decided'; make: (committedAtMs: number) => T }>
  | Readonly<{ kind: 'refused'; error: SynclineError }>;

export async function commitGroup<T>(
  deps: CommitGroupDeps,
  operations: readonly JobOperation<T>[],
): Promise<GroupResult<T>> {
  const { calls, documents } = deps;
  const what = `the write to job "${documents.jobId}"`;
  const wanted = new Map(
    [documents.job, ...operations.flatMap((operation) => operation.documents(documents))].map(
      (document) => [document.path, document],
    ),
  );
  const { rows, decided } = await calls.transact(what, async (transaction) => {
    const read = new GroupRows(documents, await transaction.getAll(...wanted.values()));
    const outcomes = operations.map((operation) => decide(operation, read));
    read.writeTo(transaction);
    return { rows: read, decided: outcomes };
  });
  const { job, anchor } = rows;
  const committedAtMs = anchor ? await readCommitTime(deps, anchor, rows.readAtMs) : rows.readAtMs;
  return {
    seen: job && { incarnation: job.job.incarnation, revision: job.head.revision },
    commit:
      job && anchor
        ? {
            incarnation: job.job.incarnation,
            revisionBefore: rows.revisionBefore,
            changes: rows.changes.map((change) => stamped(change, committedAtMs)),
          }
        : undefined,
    answers: decided.map((outcome) =>
      outcome.kind === 'refused'
        ? outcome
        : { kind: 'answer', answer: outcome.make(committedAtMs) },
    ),
  };
}

function decide<T>(operation: JobOperation<T>, rows: GroupRows): Decided<T> {
  try {
    return { kind: 'decided', make: operation.decide(rows) };
  } catch (thrown) {
    // Anything else is a mistake of ours: what it has kept before must not be committed.
    if (!(thrown instanceof SynclineError)) throw thrown;
    return { kind: 'refused', error: thrown };
  }
}

/** If it fails, the answers stay open: a retry with the same event id gets the true ones. */
async function readCommitTime(
  { calls, documents }: CommitGroupDeps,
  { document, revision }: CommitAnchor,
  readAtMs: number,
): Promise<number> {
  const snapshot = await calls
    .read(`reading back a write to job "${documents.jobId}"`, () => document.get())
    .catch(outcomeUnknown);
  const timestampMs = DocumentFields.of(snapshot)?.timestampMs('timestamp');
  if (timestampMs === undefined) return readAtMs; // deleted since
  if (snapshot.get('revision') === revision) return timestampMs;
  // Overwritten since: a state remembers the time of its earlier writes.
  const record = document.id.endsWith('.') ? undefined : readIfState(documents.jobId, snapshot);
  const earlier = record?.cell.recent.find((write) => write.revision === revision);
  return earlier?.timestampMs ?? timestampMs;
}

function readIfState(jobId: string, snapshot: Parameters<typeof readStateDocument>[1]) {
  return snapshot.get('eventID') === undefined ? undefined : readStateDocument(jobId, snapshot);
}

function stamped(change: JobChange, timestampMs: number): JobChange {
  switch (change.kind) {
    case 'state':
      return { ...change, timestampMs, state: { ...change.state, timestampMs } };
    case 'lease':
      return { ...change, timestampMs };
    case 'job': {
      const { deletedAtMs } = change.job;
      const marked = deletedAtMs === change.timestampMs ? { deletedAtMs: timestampMs } : {};
      const job = { ...change.job, changedAtMs: timestampMs, ...marked };
      return { ...change, timestampMs, job };
    }
  }
}

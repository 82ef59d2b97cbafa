// What one callback of the listener brings, as changes of the job.
import type { DocumentSnapshot, QuerySnapshot } from '@google-cloud/firestore';
import type { JobChange, JobRow } from '../core/rows.js';
import { DocumentFields } from './document-fields.js';
import { kindOfDocument } from './document-refs.js';
import { metadataChange, readMetadataCopy } from './job-document.js';
import { readStateDocument, stateChange } from './state-document.js';
import { leaseChange, readTaskDocument } from './task-document.js';

export type ListenedBatch = Readonly<{
  /** By Firestore's clock. */
  readAtMs: number;
  /** The metadata, if they are among what changed. */
  job: JobRow | undefined;
  /** There is no metadata: the job is deleted. */
  isGone: boolean;
  /** In no order. */
  changes: readonly ListenedChange[];
}>;

export type ListenedChange = Readonly<{ incarnation: string; change: JobChange }>;

export function listenedBatch(jobId: string, snapshot: QuerySnapshot): ListenedBatch {
  const changed = snapshot.docChanges().filter(({ type }) => type !== 'removed');
  const changes = changed.flatMap(({ doc }) => listenedChange(jobId, doc) ?? []);
  const metadata = changed.find(({ doc }) => kindOfDocument(doc.id) === 'job')?.doc;
  return {
    readAtMs: snapshot.readTime.toMillis(),
    job: metadata && readMetadataCopy(jobId, metadata),
    isGone: !snapshot.docs.some((doc) => kindOfDocument(doc.id) === 'job'),
    changes,
  };
}

export function listenedChange(
  jobId: string,
  document: DocumentSnapshot,
): ListenedChange | undefined {
  const timestampMs = DocumentFields.of(document)?.timestampMs('timestamp') ?? 0;
  switch (kindOfDocument(document.id)) {
    case 'job': {
      const job = readMetadataCopy(jobId, document);
      return job && { incarnation: job.incarnation, change: metadataChange(job, timestampMs) };
    }
    case 'task': {
      const record = readTaskDocument(document);
      return (
        record && {
          incarnation: record.incarnation,
          change: leaseChange(record.task, timestampMs),
        }
      );
    }
    case 'state': {
      const record = readStateDocument(jobId, document);
      return record && { incarnation: record.incarnation, change: stateChange(record.state) };
    }
  }
}

// The document of a state: the latest write of a key, and what is remembered of the seven before it.
//
// The payload is JSON in a text: Firestore refuses lists within lists and names like `__x__`. Fields that a
// write leaves out are null, never missing. An earlier write of the same commit has no time of its own: it is that
// of the document.
import { type DocumentSnapshot, FieldValue } from '@google-cloud/firestore';
import type { CellRow, JobChange, RecentWrite } from '../core/rows.js';
import type { State } from '../state.js';
import { statusClass } from '../status.js';
import { DocumentFields } from './document-fields.js';

export type StateRecord = Readonly<{ cell: CellRow; state: State; incarnation: string }>;

export function readStateDocument(
  jobId: string,
  snapshot: DocumentSnapshot,
): StateRecord | undefined {
  const fields = DocumentFields.of(snapshot);
  if (!fields) return undefined;
  const payload = fields.optionalJson('payload');
  const status = fields.number('status');
  const progress = fields.optionalNumber('progress');
  const latest = readRecentWrite(fields, fields.timestampMs('timestamp'));
  const { eventId, version, revision, timestampMs } = latest;
  const earlier = fields
    .list('earlier')
    .map((write) => readRecentWrite(write, write.optionalNumber('timestampMs') ?? timestampMs));
  return {
    incarnation: fields.text('incarnation'),
    cell: { version, revision, status, progress: progress ?? 0, recent: [latest, ...earlier] },
    state: {
      jobId,
      taskId: fields.number('taskID'),
      tag: fields.text('tag'),
      status,
      statusClass: statusClass(status),
      message: fields.text('message'),
      ...(progress === undefined ? {} : { progress }),
      timestampMs,
      version,
      revision,
      eventId,
      schemaVersion: fields.number('schemaVersion'),
      ...(payload === undefined ? {} : { payload }),
    },
  };
}

/** As a commit leaves it that found the job at `revisionBefore`. The timestamp is the moment of the commit. */
export function stateFields(
  { cell, state, incarnation }: StateRecord,
  revisionBefore: number,
): Readonly<Record<string, unknown>> {
  const [latest, ...earlier] = cell.recent;
  return {
    taskID: state.taskId,
    tag: state.tag,
    status: state.status,
    message: state.message,
    progress: state.progress ?? null,
    timestamp: FieldValue.serverTimestamp(),
    version: state.version,
    eventID: state.eventId,
    payload: state.payload === undefined ? null : JSON.stringify(state.payload),
    schemaVersion: state.schemaVersion,
    revision: state.revision,
    incarnation,
    digest: latest?.digest ?? '',
    earlier: earlier.map(({ eventId, version, revision, timestampMs, digest }) => ({
      eventID: eventId,
      version,
      revision,
      timestampMs: revision > revisionBefore ? null : timestampMs,
      digest,
    })),
  };
}

export function stateChange(state: State): JobChange {
  const { revision, timestampMs } = state;
  return { kind: 'state', revision, timestampMs, state };
}

function readRecentWrite(fields: DocumentFields, timestampMs: number): RecentWrite {
  return {
    eventId: fields.text('eventID'),
    version: fields.number('version'),
    revision: fields.number('revision'),
    timestampMs,
    digest: fields.text('digest'),
  };
}

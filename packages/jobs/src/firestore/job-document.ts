// The job document: metadata, the head that moves with every change, and what is counted.
//
// Every change writes its `timestamp`. Lists stand for maps, because Firestore reserves some names of fields.
// `isDeleting`: the job is gone for everyone, and documents of it remain to be removed.
import { type DocumentSnapshot, FieldValue } from '@google-cloud/firestore';
import type { HeadRow, JobChange, JobRow } from '../core/rows.js';
import { jobInfoOf } from '../core/views.js';
import type { JobSummary } from '../job.js';
import { DocumentFields } from './document-fields.js';
import { cellsOf, type JobTally } from './job-tally.js';

export type JobRecord = Readonly<{
  job: JobRow;
  head: HeadRow;
  tally: JobTally;
  isDeleting: boolean;
}>;

type Fields = Readonly<Record<string, unknown>>;

export function readJobDocument(snapshot: DocumentSnapshot): JobRecord | undefined {
  const fields = DocumentFields.of(snapshot);
  if (!fields) return undefined;
  const number = (name: string) => fields.number(name);
  return {
    job: readMetadata(snapshot.id, fields),
    head: {
      revision: number('revision'),
      timestampMs: fields.timestampMs('timestamp'),
      statesCount: number('statesCount'),
    },
    tally: {
      classes: {
        notStarted: number('notStartedCount'),
        running: number('runningCount'),
        finished: number('finishedCount'),
        warned: number('warnedCount'),
        failed: number('failedCount'),
      },
      tags: new Map(fields.list('tags').map((tag) => [tag.text('tag'), tag.number('tasks')])),
      tasks: number('tasksCount'),
      lostTasks: number('lostCount'),
    },
    isDeleting: fields.flag('isDeleting'),
  };
}

/** All of it, as it is created. */
export function newJobFields({ job, head, tally }: JobRecord): Fields {
  return {
    jobId: job.jobId,
    isDeleting: false,
    ...metadataFields(job, 'created'),
    ...headFields(head, tally),
  };
}

/** What every change writes of an existing job document. */
export function headFields({ revision, statesCount }: HeadRow, tally: JobTally): Fields {
  const { notStarted, running, finished, warned, failed } = tally.classes;
  return {
    revision,
    timestamp: FieldValue.serverTimestamp(),
    statesRevision: revision,
    statesCount,
    notStartedCount: notStarted,
    runningCount: running,
    finishedCount: finished,
    warnedCount: warned,
    failedCount: failed,
    tags: [...tally.tags].map(([tag, tasks]) => ({ tag, tasks })),
    tasksCount: tally.tasks,
    lostCount: tally.lostTasks,
  };
}

/** What a write of metadata adds, if the job is there. */
export function changedMetadataFields(job: JobRow, isMarkedNow: boolean): Fields {
  const { createdAt: _, ...fields } = metadataFields(job, isMarkedNow ? 'marked' : 'updated');
  return fields;
}

/** The copy in `states`, for those who listen. */
export function metadataCopyFields(job: JobRow, moment: MetadataMoment): Fields {
  const timestamp = FieldValue.serverTimestamp();
  return { revision: job.metadataRevision, timestamp, ...metadataFields(job, moment) };
}

export function readMetadataCopy(jobId: string, snapshot: DocumentSnapshot): JobRow | undefined {
  const fields = DocumentFields.of(snapshot);
  return fields && readMetadata(jobId, fields);
}

export function summaryOf({ job, head, tally }: JobRecord): JobSummary {
  const all = cellsOf(tally, job);
  const { lostTasks } = tally;
  return { job: jobInfoOf(job, head), cells: all.toCounts(), percent: all.percent(), lostTasks };
}

/** The change that a metadata document stands for. */
export function metadataChange(job: JobRow, timestampMs: number): JobChange {
  const revision = job.metadataRevision;
  const head = { revision, timestampMs, statesCount: 0 };
  return { kind: 'job', revision, timestampMs, job: jobInfoOf(job, head) };
}

/** Which of its timestamps is that of the commit itself. */
export type MetadataMoment = 'created' | 'updated' | 'marked';

function metadataFields(job: JobRow, moment: MetadataMoment): Fields {
  const { incarnation, numTasks, expectedTags, labels, metadataRevision } = job;
  const now = FieldValue.serverTimestamp();
  return {
    incarnation,
    numTasks,
    expectedTags: [...expectedTags],
    labels: Object.entries(labels).map(([name, value]) => ({ name, value })),
    metadataRevision,
    createdAt: moment === 'created' ? now : new Date(job.createdAtMs),
    deleted: job.deletedAtMs !== undefined,
    deletedAt: moment === 'marked' ? now : dateOf(job.deletedAtMs),
  };
}

function dateOf(timestampMs: number | undefined): Date | null {
  return timestampMs === undefined ? null : new Date(timestampMs);
}

function readMetadata(jobId: string, fields: DocumentFields): JobRow {
  const deletedAtMs = fields.optionalTimestampMs('deletedAt');
  const labels = fields
    .list('labels')
    .map((label): readonly [string, string] => [label.text('name'), label.text('value')]);
  return {
    jobId,
    incarnation: fields.text('incarnation'),
    numTasks: fields.number('numTasks'),
    expectedTags: fields.texts('expectedTags'),
    labels: Object.fromEntries(labels),
    createdAtMs: fields.timestampMs('createdAt'),
    ...(deletedAtMs === undefined ? {} : { deletedAtMs }),
    metadataRevision: fields.number('metadataRevision'),
  };
}

// The rows of a job as bytes: metadata, head, tag, cell and task. Each begins with a byte for its form, so
// that a later one can tell them apart, and is sealed with its key.
import type { CellRow, JobRow, RecentWrite, TaskRow } from '../core/rows.js';
import type { LeaseState } from '../job.js';
import type { JobHead } from './head.js';
import { corruptRow, RowReader } from './row-reader.js';
import type { RowWriter } from './row-writer.js';

const FORM = 1;

export const LEASE_STATES = ['held', 'released', 'lost'] as const satisfies readonly LeaseState[];

export interface StoredJobRow {
  readonly jobNo: number;
  readonly row: JobRow;
}

/** A cell, and whether a loss of power could still take its latest write. */
export interface StoredCell {
  readonly row: CellRow;
  readonly isBuffered: boolean;
}

/** What the store itself remembers. */
export interface StoreRow {
  /**
   * Random, made with the first job and part of every incarnation: a directory that is emptied or replaced must
   * not give out what an earlier one has given.
   */
  readonly storeId: string;
  readonly nextJobNo: number;
  /** Part of every cursor; raised when revisions may have been lost that a cursor could name. */
  readonly generation: number;
}

export function encodeJobRow(writer: RowWriter, key: Uint8Array, job: StoredJobRow): Uint8Array {
  writer.start().byte(FORM).uint(job.jobNo).text(job.row.incarnation);
  writeJobRow(writer, job.row);
  return writer.seal(key);
}

export function decodeJobRow(key: Uint8Array, bytes: Uint8Array, jobId: string): StoredJobRow {
  const reader = readForm(key, bytes);
  const jobNo = reader.uint();
  const incarnation = reader.text();
  return { jobNo, row: readJobRow(reader, jobId, incarnation) };
}

export function writeJobRow(writer: RowWriter, row: JobRow): void {
  writer.uint(row.numTasks).uint(row.createdAtMs).uint(row.metadataRevision);
  writer.uint(row.deletedAtMs === undefined ? 0 : row.deletedAtMs + 1);
  writer.uint(row.expectedTags.length);
  for (const tag of row.expectedTags) writer.text(tag);
  const labels = Object.entries(row.labels);
  writer.uint(labels.length);
  for (const [name, value] of labels) writer.text(name).text(value);
}

export function readJobRow(reader: RowReader, jobId: string, incarnation: string): JobRow {
  const numTasks = reader.uint();
  const createdAtMs = reader.uint();
  const metadataRevision = reader.uint();
  const deletedAt = reader.uint();
  const expectedTags = Array.from({ length: reader.uint() }, () => reader.text());
  const labels = Object.fromEntries(
    Array.from({ length: reader.uint() }, () => [reader.text(), reader.text()] as const),
  );
  return {
    jobId,
    incarnation,
    numTasks,
    expectedTags,
    labels,
    createdAtMs,
    metadataRevision,
    ...(deletedAt > 0 && { deletedAtMs: deletedAt - 1 }),
  };
}

export function encodeHead(writer: RowWriter, key: Uint8Array, head: JobHead): Uint8Array {
  const { written } = head;
  writer.start().byte(FORM).uint(head.revision).uint(head.timestampMs).uint(head.statesCount);
  writer.uint(head.compactedTo);
  writer.uint(written.notStarted).uint(written.running).uint(written.finished);
  writer.uint(written.warned).uint(written.failed);
  writer.uint(head.silentTasks).uint(head.expectedWritten).uint(head.lostTasks);
  const { versions, epochs } = head.sums;
  return writer.uint(head.logRecords).uint(versions).uint(epochs).seal(key);
}

export function decodeHead(key: Uint8Array, bytes: Uint8Array): JobHead {
  const reader = readForm(key, bytes);
  return {
    revision: reader.uint(),
    timestampMs: reader.uint(),
    statesCount: reader.uint(),
    compactedTo: reader.uint(),
    written: {
      notStarted: reader.uint(),
      running: reader.uint(),
      finished: reader.uint(),
      warned: reader.uint(),
      failed: reader.uint(),
    },
    silentTasks: reader.uint(),
    expectedWritten: reader.uint(),
    lostTasks: reader.uint(),
    logRecords: reader.uint(),
    sums: { versions: reader.uint(), epochs: reader.uint() },
  };
}

export function encodeTag(writer: RowWriter, key: Uint8Array, tag: string): Uint8Array {
  return writer.start().byte(FORM).text(tag).seal(key);
}

export function decodeTag(key: Uint8Array, bytes: Uint8Array): string {
  return readForm(key, bytes).text();
}

/** The versions of remembered writes follow from the cell's: each is one less than the one before. */
export function encodeCell(writer: RowWriter, key: Uint8Array, cell: StoredCell): Uint8Array {
  const { version, revision, status, recent } = cell.row;
  writer
    .start()
    .byte(FORM)
    .byte(cell.isBuffered ? 1 : 0);
  writer.uint(version).uint(revision).int32(status).uint(recent.length);
  for (const write of recent) {
    writer.uint(write.revision).uint(write.timestampMs).text(write.eventId).text(write.digest);
  }
  return writer.seal(key);
}

export function decodeCell(key: Uint8Array, bytes: Uint8Array): StoredCell {
  const reader = readForm(key, bytes);
  const isBuffered = reader.byte() === 1;
  const version = reader.uint();
  const revision = reader.uint();
  const status = reader.int32();
  const recentCount = reader.uint();
  const recent: RecentWrite[] = [];
  for (let index = 0; index < recentCount; index += 1) {
    const writeRevision = reader.uint();
    const timestampMs = reader.uint();
    const eventId = reader.text();
    const digest = reader.text();
    recent.push({
      eventId,
      version: version - index,
      revision: writeRevision,
      timestampMs,
      digest,
    });
  }
  return { row: { version, revision, status, recent }, isBuffered };
}

/** Of a cell only what a job holds in memory of each. */
export function decodeCellPlace(
  key: Uint8Array,
  bytes: Uint8Array,
): { readonly version: number; readonly revision: number; readonly status: number } {
  const reader = readForm(key, bytes);
  reader.byte();
  return { version: reader.uint(), revision: reader.uint(), status: reader.int32() };
}

export function encodeTask(writer: RowWriter, key: Uint8Array, task: TaskRow): Uint8Array {
  writer.start().byte(FORM).uint(task.epoch).byte(LEASE_STATES.indexOf(task.state));
  return writer.uint(task.ttlMs).uint(task.revision).text(task.holder).seal(key);
}

export function decodeTask(key: Uint8Array, bytes: Uint8Array, taskId: number): TaskRow {
  const reader = readForm(key, bytes);
  const epoch = reader.uint();
  const state = readLeaseState(reader, key);
  return {
    taskId,
    epoch,
    state,
    ttlMs: reader.uint(),
    revision: reader.uint(),
    holder: reader.text(),
  };
}

export function encodeStoreRow(writer: RowWriter, key: Uint8Array, row: StoreRow): Uint8Array {
  const { storeId, nextJobNo, generation } = row;
  return writer.start().byte(FORM).text(storeId).uint(nextJobNo).uint(generation).seal(key);
}

export function decodeStoreRow(key: Uint8Array, bytes: Uint8Array): StoreRow {
  const reader = readForm(key, bytes);
  return { storeId: reader.text(), nextJobNo: reader.uint(), generation: reader.uint() };
}

export function readLeaseState(reader: RowReader, key: Uint8Array): LeaseState {
  const state = LEASE_STATES[reader.byte()];
  if (state === undefined) throw corruptRow(key);
  return state;
}

export function readForm(key: Uint8Array, bytes: Uint8Array): RowReader {
  const reader = new RowReader(key, bytes);
  if (reader.byte() !== FORM) throw corruptRow(key);
  return reader;
}

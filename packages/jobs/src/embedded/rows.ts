// The rows of the embedded store as bytes: protobuf messages of our own, and records of the log. The storage below
// keeps a checksum over key and value, so rows carry none.
import { SynclineError } from '@syncline/kernel';
import type { CellRow, JobRow, RecentWrite, TaskRow } from '../core/rows.js';
import { CellCounts } from '../engine/cell-counts.js';
import type { JobHead } from '../engine/store-adapter.js';
import { type ChangeKind, type StoredChange, subjectOf } from '../engine/stored-change.js';
import { type Label, labelList, labelMessage, labelsOf } from '../wire/job-messages.js';
import {
  decode,
  encode,
  list,
  type Message,
  mapped,
  message,
  optionalUint,
  requiredWord,
  text,
  texts,
  uint,
} from '../wire/proto-message.js';
import { ProtoReader } from '../wire/proto-reader.js';
import { ProtoWriter } from '../wire/proto-writer.js';
import { leaseStates } from '../wire/wire-enums.js';
import { revisionOfKey } from './keys.js';

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
  readonly nextJobNo: number;
  /** Part of every cursor; raised when revisions may have been lost that a cursor could name. */
  readonly generation: number;
}

type JobFields = Omit<JobRow, 'jobId' | 'labels' | 'deletedAtMs'> &
  Readonly<{ jobNo: number; labels: readonly Label[]; deletedAtMs: number | undefined }>;

const jobFields = message<JobFields>({
  jobNo: uint(1),
  incarnation: text(2),
  numTasks: uint(3),
  expectedTags: texts(4),
  labels: list(5, labelMessage),
  createdAtMs: uint(6),
  deletedAtMs: optionalUint(7),
  metadataRevision: uint(8),
});

export function encodeJobRow({ jobNo, row }: StoredJobRow): Uint8Array {
  const { deletedAtMs } = row;
  return encode(jobFields, { ...row, jobNo, labels: labelList(row.labels), deletedAtMs });
}

export function decodeJobRow(key: Uint8Array, bytes: Uint8Array, jobId: string): StoredJobRow {
  const { jobNo, labels, deletedAtMs, ...fields } = decodeRow(jobFields, key, bytes);
  const row = { jobId, ...fields, labels: labelsOf(labels) };
  return { jobNo, row: deletedAtMs === undefined ? row : { ...row, deletedAtMs } };
}

type CountFields = {
  readonly [Name in keyof CellCounts as CellCounts[Name] extends number ? Name : never]: number;
};
type HeadFields = Omit<JobHead, 'counts'> & Omit<CountFields, 'total'>;

export const headRow: Message<JobHead> = mapped(
  message<HeadFields>({
    revision: uint(1),
    timestampMs: uint(2),
    compactedTo: uint(3),
    logRecords: uint(4),
    notStarted: uint(5),
    running: uint(6),
    finished: uint(7),
    warned: uint(8),
    failed: uint(9),
    units: uint(10),
    silentTasks: uint(11),
    expectedWritten: uint(12),
    lostTasks: uint(13),
    versions: uint(14),
    epochs: uint(15),
  }),
  ({ counts, ...head }) => Object.assign({}, counts, head),
  ({ revision, timestampMs, compactedTo, logRecords, ...counts }) => ({
    revision,
    timestampMs,
    compactedTo,
    logRecords,
    counts: Object.assign(new CellCounts(0), counts),
  }),
);

export const taskRow = message<TaskRow>({
  taskId: uint(1),
  epoch: uint(2),
  state: requiredWord(3, leaseStates),
  ttlMs: uint(4),
  revision: uint(5),
  holder: text(6),
});

export const storeRow = message<StoreRow>({ nextJobNo: uint(1), generation: uint(2) });
export const tagRow = message<{ readonly tag: string }>({ tag: text(1) });

const writer = new ProtoWriter();

/** The versions of remembered writes follow from the cell's: each is one less than the one before. */
export function encodeCell({ row, isBuffered }: StoredCell): Uint8Array {
  writer.clear();
  writer.uint(1, row.version);
  writer.uint(2, row.revision);
  writer.sint(3, row.status);
  if (row.progress !== 0) writer.double(4, row.progress);
  writer.bool(5, isBuffered);
  for (const { revision, timestampMs, eventId, digest } of row.recent) {
    const start = writer.begin(6);
    writer.uint(1, revision);
    writer.uint(2, timestampMs);
    writer.text(3, eventId);
    writer.text(4, digest);
    writer.end(start);
  }
  return writer.copy();
}

/** With `withRecent` false: what a job holds in memory of each cell. */
export function decodeCell(key: Uint8Array, bytes: Uint8Array, withRecent = true): StoredCell {
  return unlessMalformed(key, () => {
    const reader = new ProtoReader('cell', bytes);
    let version = 0;
    let revision = 0;
    let status = 0;
    let progress = 0;
    let isBuffered = false;
    const recent: RecentWrite[] = [];
    for (let field = reader.field(); field !== 0; field = reader.field()) {
      if (field === 1) version = reader.uint();
      else if (field === 2) revision = reader.uint();
      else if (field === 3) status = reader.sint();
      else if (field === 4) progress = reader.double();
      else if (field === 5) isBuffered = reader.bool();
      else if (field === 6 && withRecent) recent.push(readRecent(reader, version - recent.length));
      else if (field === 6) break;
      else reader.skip();
    }
    return { row: { version, revision, status, progress, recent }, isBuffered };
  });
}

function readRecent(reader: ProtoReader, version: number): RecentWrite {
  const end = reader.enter();
  let revision = 0;
  let timestampMs = 0;
  let eventId = '';
  let digest = '';
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) revision = reader.uint();
    else if (field === 2) timestampMs = reader.uint();
    else if (field === 3) eventId = reader.text();
    else if (field === 4) digest = reader.text();
    else reader.skip();
  }
  reader.leave(end);
  return { eventId, version, revision, timestampMs, digest };
}

export function decodeRow<Row>(form: Message<Row>, key: Uint8Array, bytes: Uint8Array): Row {
  return unlessMalformed(key, () => decode(form, bytes, { name: 'row' }));
}

// A record of the log: kind, time in 6 bytes, and the message of the change as it goes to the wire.

const KINDS = ['state', 'lease', 'job'] as const satisfies readonly ChangeKind[];
export const RECORD_HEAD_BYTES = 7;
const TIME_AT = 1;
const WORD = 0x1_0000_0000;

/** Writes the record into `target`, which has room for the head and the bytes of the change. */
export function writeRecord(target: Uint8Array, at: number, change: StoredChange): void {
  const { kind, timestampMs, bytes } = change;
  const view = new DataView(target.buffer, target.byteOffset + at, RECORD_HEAD_BYTES);
  view.setUint8(0, KINDS.indexOf(kind));
  view.setUint16(TIME_AT, Math.floor(timestampMs / WORD));
  view.setUint32(TIME_AT + 2, timestampMs % WORD);
  target.set(bytes, at + RECORD_HEAD_BYTES);
}

export function decodeRecord(key: Uint8Array, record: Uint8Array): StoredChange {
  const kind = KINDS[record[0] ?? KINDS.length];
  if (kind === undefined || record.length < RECORD_HEAD_BYTES) throw corruptRow(key);
  const view = new DataView(record.buffer, record.byteOffset, RECORD_HEAD_BYTES);
  const timestampMs = view.getUint16(TIME_AT) * WORD + view.getUint32(TIME_AT + 2);
  const bytes = record.subarray(RECORD_HEAD_BYTES);
  const { taskId, tag } = unlessMalformed(key, () => subjectOf(kind, bytes));
  return { kind, revision: revisionOfKey(key), timestampMs, taskId, tag, bytes };
}

function unlessMalformed<T>(key: Uint8Array, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof SynclineError && thrown.code === 'invalid-argument')
      throw corruptRow(key);
    throw thrown;
  }
}

export function corruptRow(key: Uint8Array): SynclineError {
  const keyHex = Buffer.from(key).toString('hex');
  return new SynclineError(
    'corrupt',
    `the row 0x${keyHex} of the job store is damaged or missing. The disk probably lost it. ` +
      'Restore the data directory from a backup, or delete the job.',
    { details: { keyHex } },
  );
}

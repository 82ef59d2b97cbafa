// Storage layout of the embedded store: the keys, by first byte, and the encoding of the rows. SPEC.md describes both.
//
// Integers are big endian, so keys sort numerically. Rows are internal protobuf messages or log records. The storage
// keeps a checksum over key and value, so rows have none.
import { type StorageReads, SynclineError } from '@syncline/kernel';
import * as wire from '@syncline/kernel/wire';
import { hasCode } from '../core/refusals.js';
import type { CellRow, JobRow, RecentWrite, TaskRow } from '../core/rows.js';
import { CellCounts } from '../engine/cell-counts.js';
import { type ChangeKind, type StoredChange, subjectOf } from '../engine/changes.js';
import type { JobHead } from '../engine/store-adapter.js';
import { leaseStates } from '../wire/messages.js';

export const KeyKind = {
  job: 0x6e, // n jobId
  deleted: 0x78, // x jobNo
  head: 0x68, // h jobNo
  tag: 0x67, // g jobNo tagNo(u16)
  cell: 0x6b, // k jobNo tagNo(u16) taskId(u32)
  task: 0x74, // t jobNo taskId(u32)
  log: 0x6c, // l jobNo revision(u64)
  store: 0x73, // s
  buffered: 0x75, // u
} as const;

export type JobKeyKind = (typeof KeyKind)['head' | 'tag' | 'cell' | 'task' | 'log' | 'deleted'];

export type KeyRange = Readonly<{ from: Uint8Array; to: Uint8Array }>;

const WORD = 0x1_0000_0000;
const JOB_KEY_BYTES = 9;

export const storeKey: Uint8Array = Uint8Array.of(KeyKind.store);
export const bufferedKey: Uint8Array = Uint8Array.of(KeyKind.buffered);

export function jobKey(jobId: string): Uint8Array {
  const key = Buffer.allocUnsafe(1 + jobId.length);
  key[0] = KeyKind.job;
  key.write(jobId, 1, 'latin1'); // job ids are ASCII
  return key;
}

export function jobIdOfKey(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1', 1);
}

/** The metadata of all jobs whose id starts with `prefix` and sorts after `after`. */
export function jobsRange(prefix: string, after: string): KeyRange {
  const to = jobKey(prefix);
  const last = to.length - 1;
  to[last] = (to[last] ?? 0) + 1; // ids are ASCII, and so is `n`: no carry
  const from = after >= prefix ? jobKey(`${after}\0`) : jobKey(prefix);
  return { from, to };
}

export function kindRange(kind: JobKeyKind): KeyRange {
  return { from: Uint8Array.of(kind), to: Uint8Array.of(kind + 1) };
}

export const deletedKey = (jobNo: number): Uint8Array => jobPart(KeyKind.deleted, jobNo);
export const headKey = (jobNo: number): Uint8Array => jobPart(KeyKind.head, jobNo);

export function tagKey(jobNo: number, tagNo: number): Uint8Array {
  const key = jobPart(KeyKind.tag, jobNo, 2);
  key.writeUInt16BE(tagNo, JOB_KEY_BYTES);
  return key;
}

export function cellKey(jobNo: number, tagNo: number, taskId: number): Uint8Array {
  const key = jobPart(KeyKind.cell, jobNo, 6);
  key.writeUInt16BE(tagNo, JOB_KEY_BYTES);
  key.writeUInt32BE(taskId, JOB_KEY_BYTES + 2);
  return key;
}

export function taskKey(jobNo: number, taskId: number): Uint8Array {
  const key = jobPart(KeyKind.task, jobNo, 4);
  key.writeUInt32BE(taskId, JOB_KEY_BYTES);
  return key;
}

export function logKey(jobNo: number, revision: number): Uint8Array {
  const key = jobPart(KeyKind.log, jobNo, 8);
  writeUint64(key, JOB_KEY_BYTES, revision);
  return key;
}

export function jobRange(kind: JobKeyKind, jobNo: number): KeyRange {
  return { from: jobPart(kind, jobNo), to: jobPart(kind, jobNo + 1) };
}

export function logRange(jobNo: number, after: number, through: number): KeyRange {
  return { from: logKey(jobNo, after + 1), to: logKey(jobNo, through + 1) };
}

export const jobNoOfKey = (key: Uint8Array): number => readUint64(key, 1);
export const taskIdOfKey = (key: Uint8Array): number => readUint32(key, JOB_KEY_BYTES);
export const revisionOfKey = (key: Uint8Array): number => readUint64(key, JOB_KEY_BYTES);

export function tagNoOfKey(key: Uint8Array): number {
  return ((key[JOB_KEY_BYTES] ?? 0) << 8) | (key[JOB_KEY_BYTES + 1] ?? 0);
}

export function cellOfKey(key: Uint8Array): { readonly tagNo: number; readonly taskId: number } {
  return { tagNo: tagNoOfKey(key), taskId: readUint32(key, JOB_KEY_BYTES + 2) };
}

function jobPart(kind: JobKeyKind, jobNo: number, moreBytes = 0): Buffer {
  const key = Buffer.allocUnsafe(JOB_KEY_BYTES + moreBytes);
  key[0] = kind;
  writeUint64(key, 1, jobNo);
  return key;
}

function writeUint64(key: Buffer, at: number, value: number): void {
  key.writeUInt32BE(Math.floor(value / WORD), at);
  key.writeUInt32BE(value % WORD, at + 4);
}

function readUint64(key: Uint8Array, at: number): number {
  return readUint32(key, at) * WORD + readUint32(key, at + 4);
}

function readUint32(key: Uint8Array, at: number): number {
  const high = ((key[at] ?? 0) << 24) | ((key[at + 1] ?? 0) << 16);
  return (high | ((key[at + 2] ?? 0) << 8) | (key[at + 3] ?? 0)) >>> 0;
}

export interface StoreRow {
  readonly nextJobNo: number;
  /** Part of every cursor. Raised when revisions that a cursor may contain may have been lost. */
  readonly generation: number;
}

/** The id of the job is in the key. */
export const jobRow = wire.message<Omit<JobRow, 'jobId'> & Readonly<{ jobNo: number }>>({
  jobNo: wire.uint(1),
  incarnation: wire.text(2),
  numTasks: wire.uint(3),
  expectedTags: wire.texts(4),
  labels: wire.textMap(5),
  createdAtMs: wire.uint(6),
  deletedAtMs: wire.optionalUint(7),
  metadataRevision: wire.uint(8),
});

export type StoredJobRow = Readonly<{ jobNo: number; row: JobRow }>;

export function decodeJobRow(key: Uint8Array, bytes: Uint8Array): StoredJobRow {
  const { jobNo, ...fields } = decodeRow(jobRow, key, bytes);
  return { jobNo, row: { jobId: jobIdOfKey(key), ...fields } };
}

type CountFields = Omit<
  CellCounts,
  'total' | 'add' | 'addAll' | 'toCounts' | 'percent' | 'clone' | 'all'
>;

export const headRow: wire.Message<JobHead> = wire.mapped(
  wire.message<Omit<JobHead, 'counts'> & CountFields>({
    revision: wire.uint(1),
    timestampMs: wire.uint(2),
    compactedTo: wire.uint(3),
    logRecords: wire.uint(4),
    notStarted: wire.uint(5),
    running: wire.uint(6),
    finished: wire.uint(7),
    warned: wire.uint(8),
    failed: wire.uint(9),
    units: wire.uint(10),
    silentTasks: wire.uint(11),
    expectedWritten: wire.uint(12),
    lostTasks: wire.uint(13),
    versions: wire.uint(14),
    epochs: wire.uint(15),
  }),
  ({ counts, ...head }) => Object.assign({}, counts, head),
  ({ revision, timestampMs, compactedTo, logRecords, ...fields }) => {
    const counts = Object.assign(new CellCounts(0), fields);
    return { revision, timestampMs, compactedTo, logRecords, counts };
  },
);

export const taskRow = wire.message<TaskRow>({
  taskId: wire.uint(1),
  epoch: wire.uint(2),
  state: wire.requiredWord(3, leaseStates),
  ttlMs: wire.uint(4),
  revision: wire.uint(5),
  holder: wire.text(6),
});

export const storeRow = wire.message<StoreRow>({
  nextJobNo: wire.uint(1),
  generation: wire.uint(2),
});
export const tagRow = wire.message<{ readonly tag: string }>({ tag: wire.text(1) });

const writer = new wire.WireWriter();

/** The versions of recent writes are not stored: each is one less than the version before it. */
export function encodeCell(row: CellRow): Uint8Array {
  writer.clear();
  writer.uint(1, row.version);
  writer.uint(2, row.revision);
  writer.sint(3, row.status);
  if (row.progress !== 0) writer.double(4, row.progress);
  for (const { revision, timestampMs, eventId, digest } of row.recent) {
    const start = writer.begin(5);
    writer.uint(1, revision);
    writer.uint(2, timestampMs);
    writer.text(3, eventId);
    writer.text(4, digest);
    writer.end(start);
  }
  return writer.copy();
}

/** With `withRecent` false, reads only the fields that a job keeps in memory for each cell. */
export function decodeCell(key: Uint8Array, bytes: Uint8Array, withRecent = true): CellRow {
  return unlessMalformed(key, () => {
    const reader = new wire.WireReader('cell', bytes);
    let version = 0;
    let revision = 0;
    let status = 0;
    let progress = 0;
    const recent: RecentWrite[] = [];
    for (let field = reader.field(); field !== 0; field = reader.field()) {
      if (field === 1) version = reader.uint();
      else if (field === 2) revision = reader.uint();
      else if (field === 3) status = reader.sint();
      else if (field === 4) progress = reader.double();
      else if (field === 5 && withRecent) recent.push(readRecent(reader, version - recent.length));
      else if (field === 5) break;
      else reader.skip();
    }
    return { version, revision, status, progress, recent };
  });
}

function readRecent(reader: wire.WireReader, version: number): RecentWrite {
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

export function decodeRow<Row>(form: wire.Message<Row>, key: Uint8Array, bytes: Uint8Array): Row {
  return unlessMalformed(key, () => wire.decode(form, bytes, { name: 'row' }));
}

/** Undefined if there is no such row. Throws `corrupt`. */
export function readRow<Row>(
  reads: Pick<StorageReads, 'get'>,
  form: wire.Message<Row>,
  key: Uint8Array,
): Row | undefined {
  const bytes = reads.get(key);
  return bytes && decodeRow(form, key, bytes);
}

// A log record: the kind, the time in 6 bytes, and the change as an encoded message, as it is sent on the wire.

const KINDS = ['state', 'lease', 'job'] as const satisfies readonly ChangeKind[];
export const RECORD_HEAD_BYTES = 7;
const TIME_AT = 1;

/** `target` must have room for the record head and the bytes of the change. */
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
    throw hasCode(thrown, 'invalid-argument') ? corruptRow(key) : thrown;
  }
}

export function corruptRow(key: Uint8Array): SynclineError {
  const keyHex = Buffer.from(key).toString('hex');
  const message = `the row 0x${keyHex} of the job store is damaged or missing. The disk probably lost it. Restore the data directory from a backup, or delete the job.`;
  return new SynclineError('corrupt', message, { details: { keyHex } });
}

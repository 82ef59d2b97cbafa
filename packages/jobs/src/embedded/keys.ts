// Where everything lies in the storage: the keys, by their first byte.
//
//   n jobId                       the metadata of a job and its number
//   x jobNo                       a job that was deleted and whose rows are still being removed
//   h jobNo                       its head: what moves with every change
//   g jobNo tagNo(u16)            a tag: the dictionary that makes all tasks of a tag one range
//   k jobNo tagNo(u16) taskId(u32)   a cell: version, status, the revision of its record in the log
//   t jobNo taskId(u32)           a task: epoch and lease
//   l jobNo revision(u64)         the log: one change in full
//   s                             the store: its id, the next job number, the generation of its cursors
//   u                             there may be buffered writes that a loss of power would take
//
// Integers are big endian, so that keys sort like their numbers. A jobNo is a u64 that is never given twice.

export const KeyKind = {
  job: 0x6e,
  deleted: 0x78,
  head: 0x68,
  tag: 0x67,
  cell: 0x6b,
  task: 0x74,
  log: 0x6c,
  store: 0x73,
  buffered: 0x75,
} as const;

type JobKeyKind = (typeof KeyKind)['head' | 'tag' | 'cell' | 'task' | 'log' | 'deleted'];

/** Keys from `from` on and before `to`. */
export interface KeyRange {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

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

/** The metadata of all jobs whose id begins with `prefix`, of those behind `after`. */
export function jobsRange(prefix: string, after: string): KeyRange {
  const to = jobKey(prefix);
  const last = to.length - 1;
  to[last] = (to[last] ?? 0) + 1; // ids are ASCII, and so is `n`: no carry
  const from = after >= prefix ? jobKey(`${after}\0`) : jobKey(prefix);
  return { from, to };
}

export function deletedKey(jobNo: number): Uint8Array {
  return jobPart(KeyKind.deleted, jobNo, JOB_KEY_BYTES);
}

export const deletedRange: KeyRange = {
  from: Uint8Array.of(KeyKind.deleted),
  to: Uint8Array.of(KeyKind.deleted + 1),
};

export const tasksOfAllJobs: KeyRange = {
  from: Uint8Array.of(KeyKind.task),
  to: Uint8Array.of(KeyKind.task + 1),
};

export const logOfAllJobs: KeyRange = {
  from: Uint8Array.of(KeyKind.log),
  to: Uint8Array.of(KeyKind.log + 1),
};

export function headKey(jobNo: number): Uint8Array {
  return jobPart(KeyKind.head, jobNo, JOB_KEY_BYTES);
}

export function tagKey(jobNo: number, tagNo: number): Uint8Array {
  const key = jobPart(KeyKind.tag, jobNo, JOB_KEY_BYTES + 2);
  key.writeUInt16BE(tagNo, JOB_KEY_BYTES);
  return key;
}

export function cellKey(jobNo: number, tagNo: number, taskId: number): Uint8Array {
  const key = jobPart(KeyKind.cell, jobNo, JOB_KEY_BYTES + 6);
  key.writeUInt16BE(tagNo, JOB_KEY_BYTES);
  key.writeUInt32BE(taskId, JOB_KEY_BYTES + 2);
  return key;
}

export function taskKey(jobNo: number, taskId: number): Uint8Array {
  const key = jobPart(KeyKind.task, jobNo, JOB_KEY_BYTES + 4);
  key.writeUInt32BE(taskId, JOB_KEY_BYTES);
  return key;
}

export function logKey(jobNo: number, revision: number): Uint8Array {
  const key = jobPart(KeyKind.log, jobNo, JOB_KEY_BYTES + 8);
  writeUint64(key, JOB_KEY_BYTES, revision);
  return key;
}

/** All keys of one kind that a job has. */
export function jobRange(kind: JobKeyKind, jobNo: number): KeyRange {
  return {
    from: jobPart(kind, jobNo, JOB_KEY_BYTES),
    to: jobPart(kind, jobNo + 1, JOB_KEY_BYTES),
  };
}

/** The records above `after` up to `through`. */
export function logRange(jobNo: number, after: number, through: number): KeyRange {
  return { from: logKey(jobNo, after + 1), to: logKey(jobNo, through + 1) };
}

export function jobNoOfKey(key: Uint8Array): number {
  return readUint64(key, 1);
}

export function tagNoOfTagKey(key: Uint8Array): number {
  return ((key[JOB_KEY_BYTES] ?? 0) << 8) | (key[JOB_KEY_BYTES + 1] ?? 0);
}

export function cellOfKey(key: Uint8Array): { readonly tagNo: number; readonly taskId: number } {
  return { tagNo: tagNoOfTagKey(key), taskId: readUint32(key, JOB_KEY_BYTES + 2) };
}

export function taskIdOfKey(key: Uint8Array): number {
  return readUint32(key, JOB_KEY_BYTES);
}

export function revisionOfKey(key: Uint8Array): number {
  return readUint64(key, JOB_KEY_BYTES);
}

function jobPart(kind: JobKeyKind, jobNo: number, bytes: number): Buffer {
  const key = Buffer.allocUnsafe(bytes);
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

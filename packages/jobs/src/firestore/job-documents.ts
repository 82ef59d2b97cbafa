// The layout and contents of a job's documents.
//
//   jobs/{jobId}                        metadata; written only when the job is created, updated or marked as deleted
//   jobs/{jobId}/tasks/{taskId}         the epoch of a task and the last transition of its lease
//   jobs/{jobId}/states/{taskId}-{tag}  the latest write of a key
//   jobs/{jobId}/states/{taskId}, job   copies of the task and of the metadata, for listeners
//   jobs/{jobId}/leases/{taskId}        the last renewal; there are no listeners, so heartbeats wake no one
//   jobs/{jobId}/tags/written           the written tags; only the first write of a tag changes it
//
// A revision is the commit time in microseconds: the update time of the document, which is known only after the commit.
// So a document does not contain its own revision, only those of the seven writes before it. A single listener on
// `states` sees all changes of a job in commit order; two listeners would not.
//
// Labels are a list, since Firestore reserves some field names. Absent values are null. Payloads are JSON text, since
// Firestore refuses nested lists.
import {
  type DocumentReference,
  type DocumentSnapshot,
  FieldValue,
  type Firestore,
  Timestamp,
  type Transaction,
} from '@google-cloud/firestore';
import { SynclineError } from '@syncline/kernel';
import type { CellRow, JobRow, RecentWrite, TaskRow } from '../core/rows.js';
import type { LeaseState } from '../job.js';
import { statusClass } from '../job.js';
import { jobsLimits } from '../limits.js';
import { parsePayload, type StoredState } from '../wire/messages.js';

/** Enough to find the latest commit among several in the same millisecond. */
const NEWEST = 4;
export const JOB_COPY = 'job';

export type JobDocuments = ReturnType<typeof jobDocuments>;

export function jobDocuments(firestore: Firestore, jobId: string) {
  const job = firestore.collection('jobs').doc(jobId);
  const states = job.collection('states');
  const tasks = job.collection('tasks');
  const leases = job.collection('leases');
  const tags = job.collection('tags');
  /** Escapes what Firestore does not allow in an id. */
  const idOf = (tag: string) => tag.replace(/[%/]/g, encodeURIComponent);
  return {
    ...{ jobId, job, states, tasks, leases, tags },
    jobCopy: states.doc(JOB_COPY),
    writtenTags: tags.doc('written'),
    /** The latest changes, except with overlapping commits: `timestamp` is the time of the request, in milliseconds. */
    newest: states.orderBy('timestamp', 'desc').limit(NEWEST),
    task: (taskId: number) => tasks.doc(String(taskId)),
    taskCopy: (taskId: number) => states.doc(String(taskId)),
    lease: (taskId: number) => leases.doc(String(taskId)),
    state: (taskId: number, tag: string) => states.doc(`${taskId}-${idOf(tag)}`),
  };
}

export function microsOf({ seconds, nanoseconds }: Timestamp): number {
  return seconds * 1_000_000 + Math.floor(nanoseconds / 1_000);
}

export function millisOf(revision: number): number {
  return Math.floor(revision / 1_000);
}

export function commitOf({ updateTime }: DocumentSnapshot): number {
  return updateTime ? microsOf(updateTime) : 0;
}

export function latestCommit(documents: readonly DocumentSnapshot[]): number {
  return Math.max(0, ...documents.map(commitOf));
}

// Document contents: a sample of each kind, which defines its type and is used to check what is read.

const WRITE = { eventID: '', version: 0, digest: '' };
/** Every document contains its latest write and the ones before it. */
const WRITTEN = { ...WRITE, incarnation: '', earlier: [{ ...WRITE, revision: 0 }] };
const JOB = {
  jobId: '',
  numTasks: 0,
  expectedTags: [''],
  labels: [{ name: '', value: '' }],
  deleted: false,
  /** The job is deleted, but some of its documents still have to be removed. */
  isDeleting: false,
};
const TASK = { taskID: 0, epoch: 0, lease: 'held' as LeaseState, ttlMs: 0, holder: '' };
const STATE = {
  taskID: 0,
  tag: '',
  status: 0,
  message: '',
  progress: null as number | null,
  schemaVersion: 0,
  payload: null as string | null,
};
const TAGS = { tags: [''] };

/** Undefined if there is no such document. Throws `corrupt` if another program has changed it. */
function readFields<Fields extends object>(
  snapshot: DocumentSnapshot,
  sample: Fields,
): Fields | undefined {
  const data = snapshot.data();
  if (!data) return undefined;
  for (const [name, part] of Object.entries(sample))
    if (!isLike(data[name], part)) throw corrupt(snapshot, name);
  return data as Fields;
}

/** Anything matches null: optional values are checked separately. */
function isLike(value: unknown, sample: unknown): boolean {
  if (sample === null) return true;
  if (typeof sample === 'number') return Number.isSafeInteger(value);
  if (typeof sample !== 'object') return typeof value === typeof sample;
  if (Array.isArray(sample))
    return Array.isArray(value) && value.every((item) => isLike(item, sample[0]));
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(sample).every(([name, part]) => isLike(Reflect.get(value, name), part));
}

/** The message does not include the value, which may be a secret. */
function corrupt({ ref: { path } }: DocumentSnapshot, field: string): SynclineError {
  return new SynclineError(
    'corrupt',
    `the field "${field}" of the Firestore document ${path} was not written by a job store. Another program has changed it.`,
    { details: { path, field } },
  );
}

// Documents as rows. `revision` is the commit time of the document, or slightly more if another one has the same time.

interface Written {
  readonly incarnation: string;
  /** Newest first: the first one wrote the current contents. */
  readonly recent: readonly [RecentWrite, ...RecentWrite[]];
}

export function readWritten<Fields extends object>(
  snapshot: DocumentSnapshot,
  sample: Fields,
  revision = commitOf(snapshot),
): (Written & { readonly fields: Fields }) | undefined {
  const fields = readFields(snapshot, { ...WRITTEN, ...sample });
  if (!fields) return undefined;
  const remembered = (write: typeof WRITE, at: number): RecentWrite => {
    const { eventID: eventId, version, digest } = write;
    return { eventId, version, revision: at, timestampMs: millisOf(at), digest };
  };
  const earlier = fields.earlier.map((write) => remembered(write, write.revision));
  const recent = [remembered(fields, revision), ...earlier] as const;
  return { incarnation: fields.incarnation, recent, fields };
}

/** `before`: the document as it was before this write. */
function writtenFields(
  { incarnation, eventId, digest }: Readonly<Record<'incarnation' | 'eventId' | 'digest', string>>,
  before: Written | undefined,
) {
  const recent = before?.recent.slice(0, jobsLimits.recentEventIdsMax.value - 1) ?? [];
  const earlier = recent.map(({ eventId: eventID, version, revision, digest: content }) => {
    return { eventID, version, revision, digest: content };
  });
  const version = (recent[0]?.version ?? 0) + 1;
  const timestamp = FieldValue.serverTimestamp();
  const write = { eventID: eventId, version, digest };
  return { ...write, incarnation, earlier, timestamp };
}

type JobRecord = Written & Readonly<{ row: JobRow; isDeleting: boolean }>;

export function readJob(
  snapshot: DocumentSnapshot,
  revision = commitOf(snapshot),
): JobRecord | undefined {
  const found = readWritten(snapshot, JOB, revision);
  if (!found) return undefined;
  const { fields, ...written } = found;
  const { jobId, numTasks, expectedTags, labels, deleted, isDeleting } = fields;
  const row = {
    jobId,
    incarnation: written.incarnation,
    numTasks,
    expectedTags,
    labels: Object.fromEntries(labels.map(({ name, value }) => [name, value])),
    createdAtMs: snapshot.createTime?.toMillis() ?? 0,
    ...(deleted ? { deletedAtMs: millisOf(revision) } : {}),
    metadataRevision: revision,
  };
  return { ...written, row, isDeleting };
}

function jobFields({ jobId, numTasks, expectedTags, labels, ...row }: JobRow) {
  const metadata = { jobId, numTasks, expectedTags: [...expectedTags] };
  const deleted = row.deletedAtMs !== undefined;
  const pairs = Object.entries(labels).map(([name, value]) => ({ name, value }));
  const fields = { ...metadata, labels: pairs, deleted, isDeleting: false };
  return { ...fields, createdAt: Timestamp.fromMillis(row.createdAtMs) };
}

type TaskRecord = Written & Readonly<{ row: TaskRow }>;

export function readTask(
  snapshot: DocumentSnapshot,
  revision = commitOf(snapshot),
): TaskRecord | undefined {
  const found = readWritten(snapshot, TASK, revision);
  if (!found) return undefined;
  const { fields, ...written } = found;
  const { taskID: taskId, epoch, lease: state, ttlMs, holder } = fields;
  return { ...written, row: { taskId, epoch, state, ttlMs, holder, revision } };
}

function taskFields({ taskId, epoch, state, ttlMs, holder }: TaskRow): typeof TASK {
  return { taskID: taskId, epoch, lease: state, ttlMs, holder };
}

/** Whether the lease expires unless it is renewed. */
export function mustRenew({ state, ttlMs }: TaskRow): boolean {
  return state === 'held' && ttlMs > 0;
}

/** Renewed by this commit. A lease that need not be renewed has no time, so searches for expired leases skip it. */
function leaseFields(task: TaskRow) {
  const { taskId, epoch, ttlMs } = task;
  const renewedAt = mustRenew(task) ? FieldValue.serverTimestamp() : null;
  return { taskID: taskId, epoch, ttlMs, renewedAt };
}

/** When a lease with this epoch expires unless it is renewed; undefined if never. */
export function leaseEndMs(snapshot: DocumentSnapshot, epoch: number): number | undefined {
  const renewedAt: unknown = snapshot.get('renewedAt');
  if (!(renewedAt instanceof Timestamp) || snapshot.get('epoch') !== epoch) return undefined;
  return renewedAt.toMillis() + Number(snapshot.get('ttlMs'));
}

type StateRecord = Written & Readonly<{ cell: CellRow; state: StoredState }>;

export function readState(
  snapshot: DocumentSnapshot,
  revision = commitOf(snapshot),
): StateRecord | undefined {
  const found = readWritten(snapshot, STATE, revision);
  if (!found) return undefined;
  const { fields, ...written } = found;
  const { taskID: taskId, tag, status, message, progress, schemaVersion, payload } = fields;
  if (progress !== null && !(Number(progress) >= 0 && progress <= 1))
    throw corrupt(snapshot, 'progress');
  if (payload !== null && !parsePayload(payload)) throw corrupt(snapshot, 'payload');
  const { recent } = written;
  const [{ version, timestampMs, eventId }] = recent;
  const jobId = snapshot.ref.path.split('/')[1] ?? '';
  const content = {
    ...{ jobId, taskId, tag, status, statusClass: statusClass(status), message, schemaVersion },
    ...(progress === null ? {} : { progress }),
    ...(payload === null ? {} : { payloadJson: payload }),
  };
  return {
    ...written,
    cell: { version, revision, status, progress: progress ?? 0, recent },
    state: { ...content, timestampMs, version, revision, eventId },
  };
}

function stateFields(state: StoredState): typeof STATE {
  const { taskId, tag, status, message, progress = null, schemaVersion } = state;
  const { payloadJson: payload = null } = state;
  return { taskID: taskId, tag, status, message, progress, schemaVersion, payload };
}

export function readTags(snapshot: DocumentSnapshot): Set<string> {
  return new Set(readFields(snapshot, TAGS)?.tags);
}

// Reading and storing the rows of a job inside a transaction.

/** Which documents a write reads in addition to the job's. */
export type Key = Readonly<{ jobId: string; taskId?: number; tag?: string }>;

/** What a transaction has read. Rows of another incarnation are treated as absent. */
export interface Found {
  readonly transaction: Transaction;
  /** Set even if the job is being deleted. */
  readonly record: JobRecord | undefined;
  readonly job: JobRow | undefined;
  readonly task: TaskRecord | undefined;
  readonly state: StateRecord | undefined;
  /** By Firestore's clock. */
  readonly nowMs: number;
}

/** The one row that a write changes. If there is none, only the lease is renewed. */
export type Kept = Readonly<{ job?: JobRow; task?: TaskRow; state?: StoredState }>;

export async function readRows(
  transaction: Transaction,
  documents: JobDocuments,
  { taskId, tag }: Key,
): Promise<Found> {
  const wanted = [documents.job];
  if (taskId !== undefined) wanted.push(documents.task(taskId));
  if (taskId !== undefined && tag !== undefined) wanted.push(documents.state(taskId, tag));
  const [first, task, state] = await transaction.getAll(...wanted);
  const record = first && readJob(first);
  const job = record?.isDeleting ? undefined : record?.row;
  const ofJob = <R extends Written>(found: R | undefined) =>
    found?.incarnation === job?.incarnation ? found : undefined;
  return {
    transaction,
    record,
    job,
    task: ofJob(task && readTask(task)),
    state: ofJob(state && readState(state)),
    nowMs: first?.readTime.toMillis() ?? 0,
  };
}

/** Stores a row and its copy, and renews the lease of its task. Returns the document of the row. */
export function storeRow(
  documents: JobDocuments,
  { transaction, record, task: taskBefore, state: stateBefore }: Found,
  { job, task, state }: Kept,
  write: Parameters<typeof writtenFields>[0],
): DocumentReference | undefined {
  const lease = task ?? taskBefore?.row;
  if (lease && (mustRenew(lease) || (taskBefore && mustRenew(taskBefore.row))))
    transaction.set(documents.lease(lease.taskId), leaseFields(lease));
  if (job) {
    const fields = { ...jobFields(job), ...writtenFields(write, record) };
    transaction.set(documents.jobCopy, fields);
    transaction.set(documents.job, fields);
    return documents.job;
  }
  if (task) {
    const fields = { ...taskFields(task), ...writtenFields(write, taskBefore) };
    transaction.set(documents.taskCopy(task.taskId), fields);
    transaction.set(documents.task(task.taskId), fields);
    return documents.task(task.taskId);
  }
  if (!state) return undefined;
  const document = documents.state(state.taskId, state.tag);
  transaction.set(document, { ...stateFields(state), ...writtenFields(write, stateBefore) });
  return document;
}

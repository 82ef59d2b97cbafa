// The layout and contents of a job's documents: see SPEC.md.
//
// A revision is the commit time in microseconds: the update time of the document, which is known only after the commit.
// So a document does not contain its own revision, only those of the seven writes before it. A single listener on
// `states` sees all changes of a job in commit order, which is why copies of tasks and metadata are stored there too.
import {
  type CollectionReference,
  type DocumentReference,
  type DocumentSnapshot,
  FieldValue,
  type Query,
  type QuerySnapshot,
  Timestamp,
  type Transaction,
} from '@google-cloud/firestore';
import { SynclineError } from '@syncline/kernel';
import type { LeaseRows } from '../core/decisions.js';
import { type JobRow, jobInfoOf, leaseOf, type RecentWrite, type TaskRow } from '../core/rows.js';
import { jobChange, leaseChange, stateChange } from '../engine/changes.js';
import { type LeaseState, statusClass } from '../job.js';
import { limitValues } from '../limits.js';
import { parsePayload, type StoredState } from '../wire/messages.js';

/** Enough to find the latest commit among several in the same millisecond. */
const NEWEST = 4;
export const JOB_COPY = 'job';

export type JobDocuments = ReturnType<typeof jobDocuments>;

export function jobDocuments(jobs: CollectionReference, jobId: string) {
  const job = jobs.doc(jobId);
  const [states, tasks] = [job.collection('states'), job.collection('tasks')];
  const [leases, tags] = [job.collection('leases'), job.collection('tags')];
  return {
    ...{ jobId, job, states, tasks, leases, tags },
    jobCopy: states.doc(JOB_COPY),
    writtenTags: tags.doc('written'),
    /** The latest changes, except with overlapping commits: `timestamp` is the time of the request, in milliseconds. */
    newest: states.orderBy('timestamp', 'desc').limit(NEWEST),
    task: (taskId: number) => tasks.doc(String(taskId)),
    taskCopy: (taskId: number) => states.doc(String(taskId)),
    lease: (taskId: number) => leases.doc(String(taskId)),
    state: (taskId: number, tag: string) => states.doc(stateId(taskId, tag)),
  };
}

/** Escapes what Firestore does not allow in an id. */
export function stateId(taskId: number, tag: string): string {
  return `${taskId}-${tag.replace(/[%/]/g, encodeURIComponent)}`;
}

export function millisOf(revision: number): number {
  return Math.floor(revision / 1_000);
}

/** The commit time in microseconds. */
export function commitOf({ updateTime }: DocumentSnapshot): number {
  const { seconds = 0, nanoseconds = 0 } = updateTime ?? {};
  return seconds * 1_000_000 + Math.floor(nanoseconds / 1_000);
}

export function latestCommit({ docs }: QuerySnapshot): number {
  return Math.max(0, ...docs.map(commitOf));
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
  const message = `the field "${field}" of the Firestore document ${path} was not written by a job store. Another program has changed it.`;
  return new SynclineError('corrupt', message, { details: { path, field } });
}

/** What a document contains, and its latest writes, newest first: the first one wrote the contents. */
interface Written<Row> {
  readonly incarnation: string;
  readonly recent: readonly [RecentWrite, ...RecentWrite[]];
  readonly row: Row;
}

/** `revision` is the commit time of the document, or slightly more if another one has the same time. */
function reader<Fields extends object, Row>(
  sample: Fields,
  rowOf: (fields: Fields & typeof WRITTEN, latest: RecentWrite, snapshot: DocumentSnapshot) => Row,
) {
  const writeOf = ({ eventID: eventId, version, digest }: typeof WRITE, revision: number) => {
    return { eventId, version, revision, timestampMs: millisOf(revision), digest };
  };
  return (snapshot: DocumentSnapshot, revision = commitOf(snapshot)): Written<Row> | undefined => {
    const fields = readFields(snapshot, { ...WRITTEN, ...sample });
    if (!fields) return undefined;
    const { incarnation, earlier } = fields;
    const latest = writeOf(fields, revision);
    const recent = [latest, ...earlier.map((write) => writeOf(write, write.revision))] as const;
    return { incarnation, recent, row: rowOf(fields, latest, snapshot) };
  };
}

export const readWrites = reader({}, () => undefined);

type Write = Readonly<{ eventId: string; digest: string }>;

function writeFields({ eventId, digest }: Write, before: Written<unknown> | undefined) {
  const recent = before?.recent.slice(0, limitValues.recentEventIdsMax - 1) ?? [];
  const earlier = recent.map(({ eventId: eventID, version, revision, digest: content }) => {
    return { eventID, version, revision, digest: content };
  });
  const version = (recent[0]?.version ?? 0) + 1;
  const timestamp = FieldValue.serverTimestamp();
  return { eventID: eventId, version, digest, earlier, timestamp };
}

export const readJob = reader(JOB, (fields, { revision, timestampMs }, snapshot): JobRow => {
  const { jobId, incarnation, numTasks, expectedTags, labels, deleted } = fields;
  return {
    ...{ jobId, incarnation, numTasks, expectedTags },
    labels: Object.fromEntries(labels.map(({ name, value }) => [name, value])),
    createdAtMs: snapshot.createTime?.toMillis() ?? 0,
    ...(deleted && { deletedAtMs: timestampMs }),
    metadataRevision: revision,
  };
});

/** Undefined if the job does not exist, or is deleted and some of its documents still have to be removed. */
export function presentJob(snapshot: DocumentSnapshot | undefined): JobRow | undefined {
  return snapshot?.get('isDeleting') === true ? undefined : snapshot && readJob(snapshot)?.row;
}

function jobFields({ jobId, numTasks, expectedTags, labels, ...row }: JobRow) {
  const pairs = Object.entries(labels).map(([name, value]) => ({ name, value }));
  const deleted = row.deletedAtMs !== undefined;
  const createdAt = Timestamp.fromMillis(row.createdAtMs);
  return { jobId, numTasks, expectedTags: [...expectedTags], labels: pairs, deleted, createdAt };
}

const readTask = reader(TASK, (fields, { revision }): TaskRow => {
  const { taskID: taskId, epoch, lease: state, ttlMs, holder } = fields;
  return { taskId, epoch, state, ttlMs, holder, revision };
});

function taskFields({ taskId, epoch, state, ttlMs, holder }: TaskRow): typeof TASK {
  return { taskID: taskId, epoch, lease: state, ttlMs, holder };
}

/** Whether the lease expires unless it is renewed. */
export function mustRenew(task: TaskRow | undefined): boolean {
  return task?.state === 'held' && task.ttlMs > 0;
}

/** Renewed by this commit. A lease that need not be renewed has no time, so searches for expired leases skip it. */
function leaseFields(task: TaskRow) {
  const { taskId, epoch, ttlMs } = task;
  const renewedAt = mustRenew(task) ? FieldValue.serverTimestamp() : null;
  return { taskID: taskId, epoch, ttlMs, renewedAt };
}

/** When a lease with this epoch expires unless it is renewed. */
export function leaseEndMs(snapshot: DocumentSnapshot, epoch: number): number {
  const renewedAt: unknown = snapshot.get('renewedAt');
  const expires = renewedAt instanceof Timestamp && snapshot.get('epoch') === epoch;
  return expires ? renewedAt.toMillis() + Number(snapshot.get('ttlMs')) : Number.POSITIVE_INFINITY;
}

export const readState = reader(STATE, (fields, latest, snapshot): StoredState => {
  const { taskID: taskId, tag, status, message, progress, schemaVersion, payload } = fields;
  const { version, revision, timestampMs, eventId } = latest;
  if (progress !== null && !(Number(progress) >= 0 && progress <= 1))
    throw corrupt(snapshot, 'progress');
  if (payload !== null && !parsePayload(payload)) throw corrupt(snapshot, 'payload');
  return {
    jobId: snapshot.ref.path.split('/')[1] ?? '',
    ...{ taskId, tag, status, statusClass: statusClass(status), message, schemaVersion },
    ...{ version, revision, timestampMs, eventId },
    ...(progress !== null && { progress }),
    ...(payload !== null && { payloadJson: payload }),
  };
});

function stateFields(state: StoredState): typeof STATE {
  const { taskId, tag, status, message, progress = null, schemaVersion } = state;
  const { payloadJson: payload = null } = state;
  return { taskID: taskId, tag, status, message, progress, schemaVersion, payload };
}

export function readTags(snapshot: DocumentSnapshot | undefined): Set<string> {
  return new Set(snapshot && readFields(snapshot, TAGS)?.tags);
}

/** A document of `states` as a change. Its `row` is that of the job or task, or the state. */
export function readChange(document: DocumentSnapshot, revision: number) {
  const { id } = document;
  const timestampMs = millisOf(revision);
  if (id === JOB_COPY) {
    const job = readJob(document, revision);
    return job && { ...job, change: jobChange(jobInfoOf(job.row, { revision, timestampMs })) };
  }
  if (id.includes('-')) {
    const state = readState(document, revision);
    return state && { ...state, change: stateChange(state.row) };
  }
  const task = readTask(document, revision);
  return task && { ...task, change: leaseChange(leaseOf(task.row, timestampMs), timestampMs) };
}

/** Which documents a write reads in addition to the job's. */
export type Key = Readonly<{
  jobId: string;
  taskId?: number;
  tag?: string;
  other?: DocumentReference | undefined;
  /** What to count if the write would add a document. */
  counted?: (job: JobRow | undefined) => Query | undefined;
}>;

/** What a transaction has read. Rows of another incarnation are treated as absent. */
export interface Found {
  /** Set even if the job is being deleted. */
  readonly stored: Written<JobRow> | undefined;
  readonly rows: LeaseRows | undefined;
  readonly task: Written<TaskRow> | undefined;
  readonly state: Written<StoredState> | undefined;
  readonly other: DocumentSnapshot | undefined;
  readonly count: number;
  /** By Firestore's clock. */
  readonly nowMs: number;
}

/** The core computes the next revision from the head, but here it is known only after the commit. */
export const HEAD = { revision: 0, timestampMs: 0, statesCount: 0 };

/** What a write changes: a commit stores the first of them. If there is none, it only renews the lease. */
export type Changed = Readonly<{ job?: JobRow; task?: TaskRow | undefined; state?: StoredState }>;

export async function readRows(
  transaction: Transaction,
  documents: JobDocuments,
  { taskId = -1, tag, other, counted }: Key,
): Promise<Found> {
  const wanted = [documents.job];
  if (taskId >= 0) wanted.push(documents.task(taskId));
  if (tag !== undefined) wanted.push(documents.state(taskId, tag));
  const snapshots = await transaction.getAll(...wanted, ...(other ? [other] : []));
  const [first, second, third] = snapshots.slice(0, wanted.length);
  const stored = first && readJob(first);
  const job = first?.get('isDeleting') === true ? undefined : stored?.row;
  const ofJob = <Row>(found: Written<Row> | undefined) =>
    found?.incarnation === job?.incarnation ? found : undefined;
  const task = ofJob(second && readTask(second));
  const state = ofJob(third && readState(third));
  const query = state || (tag === undefined && stored) ? undefined : counted?.(job);
  const count = query ? (await query.count().get()).data().count : 0;
  const rows = job && { job, head: { ...HEAD, statesCount: count }, task: task?.row };
  const nowMs = first?.readTime.toMillis() ?? 0;
  return { stored, rows, task, state, other: snapshots[wanted.length], count, nowMs };
}

/** Stores a row and its copy, and renews the lease of its task. Returns the document of the row. */
export function storeRow(
  transaction: Transaction,
  documents: JobDocuments,
  found: Found,
  { job, task, state, ...write }: Changed & Write,
): DocumentReference | undefined {
  const { incarnation } = job ?? found.rows?.job ?? {};
  const lease = task ?? found.task?.row;
  if (lease && (mustRenew(lease) || mustRenew(found.task?.row)))
    transaction.set(documents.lease(lease.taskId), leaseFields(lease));
  const store = (
    fields: object,
    replaced: Written<unknown> | undefined,
    targets: readonly DocumentReference[],
  ) => {
    const contents = { ...fields, incarnation, ...writeFields(write, replaced) };
    for (const target of targets) transaction.set(target, contents);
    return targets[0];
  };
  if (job) return store(jobFields(job), found.stored, [documents.job, documents.jobCopy]);
  if (task) {
    const targets = [documents.task(task.taskId), documents.taskCopy(task.taskId)];
    return store(taskFields(task), found.task, targets);
  }
  if (!state) return undefined;
  return store(stateFields(state), found.state, [documents.state(state.taskId, state.tag)]);
}

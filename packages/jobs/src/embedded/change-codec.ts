// A record of the log: one change in full. The log is the only copy of a state.
//
// The revision is in the key, the job's id and incarnation are known to whoever reads; a tag stands as its
// number in the job's dictionary.
import type { JobChange } from '../core/rows.js';
import type { JobInfo, TaskLease } from '../job.js';
import type { JsonObject, State } from '../state.js';
import { statusClass } from '../status.js';
import { revisionOfKey } from './keys.js';
import { LEASE_STATES, readForm, readJobRow, readLeaseState, writeJobRow } from './row-codec.js';
import { corruptRow, type RowReader } from './row-reader.js';
import type { RowWriter } from './row-writer.js';

const FORM = 1;
const STATE = 0;
const LEASE = 1;
const JOB = 2;

/** What a record needs besides its bytes. */
export interface LogContext {
  readonly jobId: string;
  readonly incarnation: string;
  /** Undefined: this number was never given. */
  tagOf(tagNo: number): string | undefined;
}

/** Whose record it is, without reading all of it: enough to tell whether a later one has replaced it. */
export type RecordSubject =
  | { readonly kind: 'state'; readonly tagNo: number; readonly taskId: number }
  | { readonly kind: 'lease'; readonly taskId: number }
  | { readonly kind: 'job' };

export function encodeChange(
  writer: RowWriter,
  key: Uint8Array,
  change: JobChange,
  tagNo: number,
): Uint8Array {
  writer.start().byte(FORM);
  switch (change.kind) {
    case 'state':
      writeState(writer, change.state, tagNo);
      break;
    case 'lease':
      writeLease(writer, change.lease, change.timestampMs);
      break;
    case 'job':
      writer.byte(JOB).uint(change.timestampMs).uint(change.job.changedAtMs);
      writeJobRow(writer, { ...change.job, metadataRevision: change.job.revision });
      break;
  }
  return writer.seal(key);
}

/** One record of the log, found whole. */
export class LogRecord {
  readonly revision: number;
  readonly subject: RecordSubject;
  readonly #key: Uint8Array;
  readonly #reader: RowReader;

  /** Throws `corrupt`. */
  constructor(key: Uint8Array, bytes: Uint8Array) {
    this.#key = key;
    this.#reader = readForm(key, bytes);
    this.revision = revisionOfKey(key);
    this.subject = readSubject(this.#reader, key);
  }

  /** The rest of it. Can be read once. */
  change(context: LogContext): JobChange {
    const reader = this.#reader;
    const { revision, subject } = this;
    const timestampMs = reader.uint();
    const base = { revision, timestampMs };
    switch (subject.kind) {
      case 'state': {
        const tag = context.tagOf(subject.tagNo);
        if (tag === undefined) throw corruptRow(this.#key);
        const place = { jobId: context.jobId, taskId: subject.taskId, tag };
        return { kind: 'state', ...base, state: readState(reader, place, base) };
      }
      case 'lease': {
        const state = readLeaseState(reader, this.#key);
        const lease = readLease(reader, { taskId: subject.taskId, state, revision });
        return { kind: 'lease', ...base, lease };
      }
      case 'job':
        return { kind: 'job', ...base, job: readJob(reader, context) };
    }
  }
}

function readSubject(reader: RowReader, key: Uint8Array): RecordSubject {
  const kind = reader.byte();
  if (kind === STATE) {
    const taskId = reader.uint();
    return { kind: 'state', taskId, tagNo: reader.uint() };
  }
  if (kind === LEASE) return { kind: 'lease', taskId: reader.uint() };
  if (kind === JOB) return { kind: 'job' };
  throw corruptRow(key);
}

function writeState(writer: RowWriter, state: State, tagNo: number): void {
  writer.byte(STATE).uint(state.taskId).uint(tagNo).uint(state.timestampMs).int32(state.status);
  writer.uint(state.version).uint(state.schemaVersion).text(state.eventId).text(state.message);
  if (state.payload !== undefined) writer.text(JSON.stringify(state.payload));
}

function readState(
  reader: RowReader,
  place: Pick<State, 'jobId' | 'taskId' | 'tag'>,
  { revision, timestampMs }: Pick<State, 'revision' | 'timestampMs'>,
): State {
  const status = reader.int32();
  const version = reader.uint();
  const schemaVersion = reader.uint();
  const eventId = reader.text();
  const message = reader.text();
  const state: State = {
    jobId: place.jobId,
    taskId: place.taskId,
    tag: place.tag,
    status,
    statusClass: statusClass(status),
    message,
    timestampMs,
    version,
    revision,
    eventId,
    schemaVersion,
  };
  if (reader.isAtEnd) return state;
  return { ...state, payload: JSON.parse(reader.text()) as JsonObject };
}

function writeLease(writer: RowWriter, lease: TaskLease, timestampMs: number): void {
  writer.byte(LEASE).uint(lease.taskId).uint(timestampMs);
  writer.byte(LEASE_STATES.indexOf(lease.state)).uint(lease.epoch).uint(lease.ttlMs);
  writer.uint(lease.expiresAtMs).text(lease.holder);
}

function readLease(
  reader: RowReader,
  known: Pick<TaskLease, 'taskId' | 'state' | 'revision'>,
): TaskLease {
  const epoch = reader.uint();
  const ttlMs = reader.uint();
  const expiresAtMs = reader.uint();
  return { ...known, epoch, ttlMs, expiresAtMs, holder: reader.text() };
}

function readJob(reader: RowReader, { jobId, incarnation }: LogContext): JobInfo {
  const changedAtMs = reader.uint();
  const { metadataRevision, ...job } = readJobRow(reader, jobId, incarnation);
  return { ...job, revision: metadataRevision, changedAtMs };
}

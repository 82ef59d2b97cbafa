// One committed change, encoded once. The same bytes go to disk, to the wire and to subscribers.
//
// `bytes` is a State, Lease or Job message (proto/syncline/jobs/v1/jobs.proto). States and leases do not contain the
// job id, which the reader knows. Payloads stay JSON text; they are parsed only when an event is handed to user code.
import type { FeedChange, FeedGap, FeedStale } from '@syncline/kernel';
import { decode, encode, WireReader } from '@syncline/kernel/wire';
import type { JobInfo, Scope, State, TaskLease } from '../job.js';
import type { History, JobEvent, StoreSubscribeOptions } from '../job-store.js';
import { formatCursor } from '../job-store.js';
import * as messages from '../wire/messages.js';

export type ChangeKind = 'state' | 'lease' | 'job';

export interface StoredChange {
  readonly kind: ChangeKind;
  readonly revision: number;
  readonly timestampMs: number;
  /** 0 for metadata changes. */
  readonly taskId: number;
  /** Empty unless it is a state. */
  readonly tag: string;
  readonly bytes: Uint8Array;
}

export function encodeState(state: messages.StoredState): Uint8Array {
  return encode(messages.stateMessage, state);
}

export function stateChange(state: messages.StoredState): StoredChange {
  const { revision, timestampMs, taskId, tag } = state;
  return { kind: 'state', revision, timestampMs, taskId, tag, bytes: encodeState(state) };
}

export function leaseChange(lease: TaskLease, timestampMs: number): StoredChange {
  const { revision, taskId } = lease;
  const bytes = encode(messages.leaseMessage, lease);
  return { kind: 'lease', revision, timestampMs, taskId, tag: '', bytes };
}

export function jobChange(job: JobInfo): StoredChange {
  const { revision, changedAtMs: timestampMs } = job;
  const bytes = encode(messages.jobMessage, job);
  return { kind: 'job', revision, timestampMs, taskId: 0, tag: '', bytes };
}

export function decodeStoredState(bytes: Uint8Array, jobId: string): messages.StoredState {
  return messages.readStoredState(new WireReader('State', bytes), jobId);
}

export function decodeState(bytes: Uint8Array, jobId: string): State {
  return messages.readState(new WireReader('State', bytes), jobId);
}

export function decodeLease({ bytes }: StoredChange): TaskLease {
  return decode(messages.leaseMessage, bytes, { name: 'Lease' });
}

export function decodeJob({ bytes }: StoredChange): JobInfo {
  return decode(messages.jobMessage, bytes, { name: 'Job' });
}

/** The task and tag of a change, read from the start of its message: fields 1 and, of a state, 2. */
export function subjectOf(kind: ChangeKind, bytes: Uint8Array): Required<Scope> {
  const reader = new WireReader('change', bytes);
  let field = kind === 'job' ? 0 : reader.field();
  const taskId = field === 1 ? reader.uint() : 0;
  if (field === 1) field = reader.field();
  return { taskId, tag: kind === 'state' && field === 2 ? reader.text() : '' };
}

// The events that subscribers of a job receive: wrappers around encoded changes. A server sends the bytes unchanged;
// user code gets them decoded on delivery. Buffers therefore hold bytes, not objects.

/** Approximate overhead of a buffered change, excluding its bytes. */
const CHANGE_BYTES = 200;

/** The job of a feed, and the base of its cursors. */
export type FeedJob = Readonly<{ jobId: string; base: string }>;

/** A committed change in the feed. All live subscribers share one instance. */
export class JobFeedChange implements FeedChange {
  readonly stored: StoredChange;
  readonly revision: number;
  readonly base: string;
  readonly jobId: string;
  /** On the monotonic clock; 0 if it was read from the store. */
  readonly publishedAtMs: number;
  /** The event sent after `synced`; one object for all subscribers. */
  readonly event: EncodedChange;
  #topics: readonly string[] | undefined;
  #decoded: WeakRef<JobEvent> | undefined;

  constructor(stored: StoredChange, { jobId, base }: FeedJob, publishedAtMs: number) {
    this.stored = stored;
    this.revision = stored.revision;
    this.jobId = jobId;
    this.base = base;
    this.publishedAtMs = publishedAtMs;
    this.event = { kind: stored.kind === 'state' ? 'change' : stored.kind, change: this };
  }

  /** The narrowest topic: a later change with the same key replaces this one. */
  get key(): string {
    return this.topics[0] ?? '';
  }

  get topics(): readonly string[] {
    this.#topics ??= changeTopics(this.stored);
    return this.#topics;
  }

  get bytes(): number {
    return CHANGE_BYTES + this.stored.bytes.length;
  }

  /** The event sent before `synced`. */
  replayEvent(): EncodedChange {
    const { kind } = this.stored;
    return { kind: kind === 'state' ? 'snapshot' : kind, change: this, isReplay: true };
  }

  /** Subscribers in one process share the object while any of them holds it. */
  decoded(): JobEvent {
    const known = this.#decoded?.deref();
    if (known) return known;
    const event = decodeChange(this, false);
    this.#decoded = new WeakRef(event);
    return event;
  }
}

export type EncodedChange = Readonly<{
  kind: 'snapshot' | 'change' | 'lease' | 'job';
  change: JobFeedChange;
  isReplay?: boolean;
}>;

export type EncodedEvent =
  | EncodedChange
  | Readonly<{ kind: 'synced'; revision: number; base: string; history: History; resumed: boolean }>
  | FeedGap
  | FeedStale
  | Readonly<{ kind: 'live'; revision: number; base: string }>;

export function decodeEvent(event: EncodedEvent): JobEvent {
  if ('change' in event)
    return event.isReplay ? decodeChange(event.change, true) : event.change.decoded();
  if (!('base' in event)) return event;
  const { base, ...marker } = event;
  return { ...marker, cursor: formatCursor(base, marker.revision) };
}

function decodeChange({ stored, base, jobId }: JobFeedChange, isReplay: boolean): JobEvent {
  const cursor = formatCursor(base, stored.revision, isReplay);
  switch (stored.kind) {
    case 'state': {
      const state = decodeState(stored.bytes, jobId);
      return { kind: isReplay ? 'snapshot' : 'change', state, cursor };
    }
    case 'lease':
      return { kind: 'lease', lease: decodeLease(stored), cursor };
    case 'job':
      return { kind: 'job', job: decodeJob(stored), cursor };
  }
}

// What a subscriber wants to receive, and the topics that route a change to its subscribers. A lease has no tag, so only
// the scope's task filters leases. Metadata is not filtered by scope.

export type JobFilter = Readonly<{ scope: Scope; withLeases: boolean; withJob: boolean }>;

export type ChangeSubject = Pick<StoredChange, 'kind' | 'taskId' | 'tag'>;

export function jobFilter({ scope, include = [] }: StoreSubscribeOptions): JobFilter {
  return { scope, withLeases: include.includes('lease'), withJob: include.includes('job') };
}

export function matchesFilter(
  { scope, withLeases, withJob }: JobFilter,
  { kind, taskId, tag }: ChangeSubject,
): boolean {
  const isTask = scope.taskId === undefined || scope.taskId === taskId;
  switch (kind) {
    case 'state':
      return isTask && (scope.tag === undefined || scope.tag === tag);
    case 'lease':
      return withLeases && isTask;
    case 'job':
      return withJob;
  }
}

/** Without a task or tag, it stands for any. Tags have no control characters. */
function topicOf(kind: ChangeKind, taskId?: number, tag?: string): string {
  return `${kind} ${taskId ?? '\n'} ${tag ?? '\n'}`;
}

/** Narrowest first: a later change with the same first topic replaces this one. */
export function changeTopics({ kind, taskId, tag }: ChangeSubject): readonly string[] {
  switch (kind) {
    case 'state': {
      const ofTask = [topicOf(kind, taskId, tag), topicOf(kind, taskId)];
      return [...ofTask, topicOf(kind, undefined, tag), topicOf(kind)];
    }
    case 'lease':
      return [topicOf(kind, taskId), topicOf(kind)];
    case 'job':
      return [topicOf(kind)];
  }
}

export function filterTopics({ scope, withLeases, withJob }: JobFilter): readonly string[] {
  const topics = [topicOf('state', scope.taskId, scope.tag)];
  if (withLeases) topics.push(topicOf('lease', scope.taskId));
  if (withJob) topics.push(topicOf('job'));
  return topics;
}

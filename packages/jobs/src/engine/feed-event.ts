// What subscribers of a job get: events around encoded changes. A server sends their bytes as they are; a program gets
// them decoded, at the moment they are handed out. So what waits in buffers is bytes, not objects.
import type { FeedChange } from '@syncline/kernel';
import { formatCursor } from '../cursor.js';
import type { Cursor, GapReason, History, JobEvent } from '../job-event.js';
import { changeTopics } from './job-filter.js';
import { decodeJob, decodeLease, decodeState, type StoredChange } from './stored-change.js';

/** What a change takes in a buffer besides its bytes, about. */
const CHANGE_BYTES = 200;

/** A committed change as the feed holds it. All live subscribers share one. */
export class JobFeedChange implements FeedChange {
  readonly stored: StoredChange;
  readonly revision: number;
  /** What its cursor starts with. */
  readonly base: string;
  readonly jobId: string;
  /** On the monotonic clock; 0 if it was read from the store. */
  readonly publishedAtMs: number;
  /** After `synced`; one object for all subscribers. */
  readonly event: EncodedChange;
  #topics: readonly string[] | undefined;
  #decoded: WeakRef<JobEvent> | undefined;

  constructor(
    stored: StoredChange,
    job: { readonly jobId: string; readonly base: string },
    publishedAtMs: number,
  ) {
    this.stored = stored;
    this.revision = stored.revision;
    this.jobId = job.jobId;
    this.base = job.base;
    this.publishedAtMs = publishedAtMs;
    this.event = { kind: stored.kind === 'state' ? 'change' : stored.kind, change: this };
  }

  /** Its narrowest topic: a later change with the same one replaces it. */
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

  /** Before `synced`. */
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
  | Readonly<{ kind: 'gap'; reason: GapReason; fromRevision: number; toRevision: number }>
  | Readonly<{ kind: 'stale'; sinceMs: number; attempt: number }>
  | Readonly<{ kind: 'live'; revision: number; base: string }>;

/** As programs see it. */
export function decodeEvent(event: EncodedEvent): JobEvent {
  switch (event.kind) {
    case 'snapshot':
    case 'change':
    case 'lease':
    case 'job':
      return event.isReplay ? decodeChange(event.change, true) : event.change.decoded();
    case 'synced': {
      const { base, ...synced } = event;
      return { ...synced, cursor: formatCursor(base, event.revision) };
    }
    case 'live':
      return {
        kind: 'live',
        revision: event.revision,
        cursor: formatCursor(event.base, event.revision),
      };
    case 'gap':
    case 'stale':
      return event;
  }
}

function decodeChange({ stored, base, jobId }: JobFeedChange, isReplay: boolean): JobEvent {
  const cursor: Cursor = formatCursor(base, stored.revision, isReplay);
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

// A committed change as the feed holds it: with the event that all live subscribers share, made once.
//
// What only some readers need (the event, the topics) is made when it is first asked for: a replay of a
// hundred thousand states asks for neither.
import type { FeedChange } from '@syncline/kernel';
import type { JobChange } from '../core/rows.js';
import { stateBytes } from '../core/state-bytes.js';
import { formatCursor } from '../cursor.js';
import type { Cursor, JobEvent } from '../job-event.js';
import { changeTopics } from './job-topics.js';

/** What a lease or the metadata counts towards a buffer. */
const OTHER_BYTES = 256;

export class JobFeedChange implements FeedChange {
  readonly change: JobChange;
  readonly revision: number;
  /** On the monotonic clock; 0 if it was read from the store. */
  readonly publishedAtMs: number;
  /** What its cursor begins with. */
  readonly base: string;
  #bytes: number | undefined;
  #event: JobEvent | undefined;
  #topics: readonly string[] | undefined;

  constructor(change: JobChange, base: string, publishedAtMs: number) {
    this.change = change;
    this.revision = change.revision;
    this.base = base;
    this.publishedAtMs = publishedAtMs;
  }

  /** Its narrowest topic: what has the same one replaces it. */
  get key(): string {
    return this.topics[0] ?? '';
  }

  get topics(): readonly string[] {
    this.#topics ??= changeTopics(this.change);
    return this.#topics;
  }

  get bytes(): number {
    this.#bytes ??= this.change.kind === 'state' ? stateBytes(this.change.state) : OTHER_BYTES;
    return this.#bytes;
  }

  /** After `synced`. */
  get event(): JobEvent {
    this.#event ??= eventOf(this.change, 'change', formatCursor(this.base, this.revision));
    return this.#event;
  }

  /** Before `synced`. */
  replayEvent(): JobEvent {
    return eventOf(this.change, 'snapshot', formatCursor(this.base, this.revision, true));
  }
}

function eventOf(change: JobChange, kind: 'snapshot' | 'change', cursor: Cursor): JobEvent {
  switch (change.kind) {
    case 'state':
      return { kind, state: change.state, cursor };
    case 'lease':
      return { kind: 'lease', lease: change.lease, cursor };
    case 'job':
      return { kind: 'job', job: change.job, cursor };
  }
}

// Frames as events. Frames carry no cursors: the reader makes them, of the frame's base and the event's revision,
// with the mark of a replay until `synced` has come.
import { formatCursor } from '../cursor.js';
import type { GapReason, History, JobEvent } from '../job-event.js';
import { jobMessage, leaseMessage } from './job-messages.js';
import { bool, message, requiredWord, uint } from './proto-message.js';
import { ProtoReader } from './proto-reader.js';
import { readStoredState, withPayload } from './state-message.js';
import { gapReasons, histories } from './wire-enums.js';

const INCARNATION = 1;
const EVENTS = 2;

const syncedMessage = message<{
  readonly revision: number;
  readonly resumed: boolean;
  readonly history: History;
}>({ revision: uint(1), resumed: bool(2), history: requiredWord(3, histories) });

const gapMessage = message<{
  readonly reason: GapReason;
  readonly fromRevision: number;
  readonly toRevision: number;
}>({ reason: requiredWord(1, gapReasons), fromRevision: uint(2), toRevision: uint(3) });

const staleMessage = message<{ readonly sinceMs: number; readonly attempt: number }>({
  sinceMs: uint(1),
  attempt: uint(2),
});

const liveMessage = message<{ readonly revision: number }>({ revision: uint(1) });

/** For one stream: it knows whether the replay is over. */
export class FrameReader {
  readonly #jobId: string;
  /** A stream begins with a replay or with `synced`. */
  #isReplaying = true;

  constructor(jobId: string) {
    this.#jobId = jobId;
  }

  /** Throws `invalid-argument` on bytes that are no frame. Events of a kind not known yet are left out. */
  read(bytes: Uint8Array): readonly JobEvent[] {
    const reader = new ProtoReader('frame of jobs', bytes, this.#jobId);
    const events: JobEvent[] = [];
    let base = '';
    for (let field = reader.field(); field !== 0; field = reader.field()) {
      if (field === INCARNATION) base = reader.text();
      else if (field === EVENTS) {
        const outerEnd = reader.enter();
        for (let kind = reader.field(); kind !== 0; kind = reader.field()) {
          const event = this.#event(reader, kind, base);
          if (event !== undefined) events.push(event);
        }
        reader.leave(outerEnd);
      } else reader.skip();
    }
    return events;
  }

  #event(reader: ProtoReader, kind: number, base: string): JobEvent | undefined {
    if (kind > 8) {
      reader.skip();
      return undefined;
    }
    const outerEnd = reader.enter();
    const event = this.#body(reader, kind, base);
    reader.leave(outerEnd);
    if (event.kind === 'synced') this.#isReplaying = false;
    else if (event.kind === 'gap' && event.reason === 'reset') this.#isReplaying = true;
    return event;
  }

  #body(reader: ProtoReader, kind: number, base: string): JobEvent {
    const cursorAt = (revision: number) => formatCursor(base, revision, this.#isReplaying);
    switch (kind) {
      case 1: {
        const state = withPayload(readStoredState(reader), reader);
        return { kind: 'snapshot', state, cursor: formatCursor(base, state.revision, true) };
      }
      case 2: {
        const synced = syncedMessage.read(reader);
        return { kind: 'synced', ...synced, cursor: formatCursor(base, synced.revision) };
      }
      case 3: {
        const state = withPayload(readStoredState(reader), reader);
        return { kind: 'change', state, cursor: formatCursor(base, state.revision) };
      }
      case 4:
        return { kind: 'gap', ...gapMessage.read(reader) };
      case 5:
        return { kind: 'stale', ...staleMessage.read(reader) };
      case 6: {
        const { revision } = liveMessage.read(reader);
        return { kind: 'live', revision, cursor: cursorAt(revision) };
      }
      case 7: {
        const lease = leaseMessage.read(reader);
        return { kind: 'lease', lease, cursor: cursorAt(lease.revision) };
      }
      default: {
        const job = jobMessage.read(reader);
        return { kind: 'job', job, cursor: cursorAt(job.revision) };
      }
    }
  }
}

// Frames, the messages of a Subscribe stream. Changes are already encoded, when they are committed or read from disk; a
// frame concatenates them, and subscribers that get the same events at the same time share it. Frames contain no
// cursors: the reader builds them from the frame's base and the event's revision, marked as a replay until `synced`.
import * as wire from '@syncline/kernel/wire';
import type { EncodedEvent } from '../engine/changes.js';
import { formatCursor, type JobEvent } from '../job-store.js';
import { limitValues } from '../limits.js';
import * as messages from './messages.js';

const INCARNATION = 1;
const EVENTS = 2;

/** The number of a kind is its position, starting at 1. */
const KINDS = ['snapshot', 'synced', 'change', 'gap', 'stale', 'live', 'lease', 'job'] as const;

const { uint, bool, requiredWord } = wire;
const { histories, gapReasons } = messages;
const MARKERS = {
  synced: wire.message({
    revision: uint(1),
    resumed: bool(2),
    history: requiredWord(3, histories),
  }),
  gap: wire.message({
    reason: requiredWord(1, gapReasons),
    fromRevision: uint(2),
    toRevision: uint(3),
  }),
  stale: wire.message({ sinceMs: uint(1), attempt: uint(2) }),
  live: wire.message({ revision: uint(1) }),
} as const;

/** Reads the frames of one stream. It tracks whether the replay is over. */
export class FrameReader {
  readonly #jobId: string;
  /** A stream starts with a replay or with `synced`. */
  #isReplaying = true;

  constructor(jobId: string) {
    this.#jobId = jobId;
  }

  /** Throws `invalid-argument` if the bytes are not a frame. Skips events of unknown kinds. */
  read(bytes: Uint8Array): readonly JobEvent[] {
    const reader = new wire.WireReader('frame of jobs', bytes);
    const events: JobEvent[] = [];
    let base = '';
    for (let field = reader.field(); field !== 0; field = reader.field()) {
      if (field === INCARNATION) base = reader.text();
      else if (field === EVENTS) {
        const frameEnd = reader.enter();
        for (let number = reader.field(); number !== 0; number = reader.field()) {
          const kind = KINDS[number - 1];
          if (kind === undefined) {
            reader.skip();
            continue;
          }
          const eventEnd = reader.enter();
          events.push(this.#event(reader, kind, base));
          reader.leave(eventEnd);
        }
        reader.leave(frameEnd);
      } else reader.skip();
    }
    return events;
  }

  #event(reader: wire.WireReader, kind: JobEvent['kind'], base: string): JobEvent {
    const cursorAt = (revision: number) => formatCursor(base, revision, this.#isReplaying);
    switch (kind) {
      case 'snapshot':
      case 'change': {
        const state = messages.readState(reader, this.#jobId);
        return { kind, state, cursor: formatCursor(base, state.revision, kind === 'snapshot') };
      }
      case 'synced': {
        const synced = MARKERS.synced.read(reader);
        this.#isReplaying = false;
        return { kind, ...synced, cursor: cursorAt(synced.revision) };
      }
      case 'gap': {
        const gap = MARKERS.gap.read(reader);
        this.#isReplaying ||= gap.reason === 'reset';
        return { kind, ...gap };
      }
      case 'stale':
        return { kind, ...MARKERS.stale.read(reader) };
      case 'live': {
        const { revision } = MARKERS.live.read(reader);
        return { kind, revision, cursor: cursorAt(revision) };
      }
      case 'lease': {
        const lease = messages.leaseMessage.read(reader);
        return { kind, lease, cursor: cursorAt(lease.revision) };
      }
      case 'job': {
        const job = messages.jobMessage.read(reader);
        return { kind, job, cursor: cursorAt(job.revision) };
      }
    }
  }
}

const writer = new wire.WireWriter();

/** All events of a frame have the same base, from which the client builds their cursors. */
export function* framesOf(events: readonly EncodedEvent[]): Generator<Uint8Array> {
  const { frameEventsMax, frameBytesMax } = limitValues;
  for (let at = 0; at < events.length; ) {
    const start = at;
    const first = events[start];
    // A gap at the start has no base. It tells the client that a new one follows.
    const base = first && baseOf(first);
    writer.clear();
    writer.text(INCARNATION, base ?? '');
    for (; at < events.length && at - start < frameEventsMax; at += 1) {
      const event = events[at];
      if (event === undefined || (baseOf(event) ?? base) !== base) break;
      const before = writer.length;
      writeEvent(event);
      if (writer.length <= frameBytesMax || at === start) continue;
      writer.cut(before);
      break;
    }
    yield writer.copy();
  }
}

/** The base of the event's cursor; undefined if it has none. */
function baseOf(event: EncodedEvent): string | undefined {
  if ('change' in event) return event.change.base;
  return 'base' in event ? event.base : undefined;
}

function writeEvent(event: EncodedEvent): void {
  const number = KINDS.indexOf(event.kind) + 1;
  const outer = writer.begin(EVENTS);
  if ('change' in event) {
    writer.message(number, event.change.stored.bytes);
  } else {
    const inner = writer.begin(number);
    // Each kind has the fields of its own message.
    (MARKERS[event.kind] as wire.Message<typeof event>).write(writer, event);
    writer.end(inner);
  }
  writer.end(outer);
}

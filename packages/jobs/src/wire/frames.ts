// Frames, the messages of a Subscribe stream. Changes are already encoded, when they are committed or read from disk; a
// frame concatenates them, and subscribers that get the same events at the same time share it. Frames contain no
// cursors: the reader builds them from the frame's base and the event's revision, marked as a replay until `synced`.
import {
  bool,
  type Message,
  message,
  requiredWord,
  uint,
  WireReader,
  WireWriter,
} from '@syncline/kernel/wire';
import type { EncodedEvent } from '../engine/changes.js';
import { formatCursor, type JobEvent } from '../job-store.js';
import { jobsLimits } from '../limits.js';
import {
  gapReasons,
  histories,
  jobMessage,
  leaseMessage,
  readStoredState,
  withPayload,
} from './messages.js';

const INCARNATION = 1;
const EVENTS = 2;

const NUMBERS: Readonly<Record<EncodedEvent['kind'], number>> = {
  snapshot: 1,
  synced: 2,
  change: 3,
  gap: 4,
  stale: 5,
  live: 6,
  lease: 7,
  job: 8,
};

const MARKERS = {
  synced: message({ revision: uint(1), resumed: bool(2), history: requiredWord(3, histories) }),
  gap: message({
    reason: requiredWord(1, gapReasons),
    fromRevision: uint(2),
    toRevision: uint(3),
  }),
  stale: message({ sinceMs: uint(1), attempt: uint(2) }),
  live: message({ revision: uint(1) }),
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
    const reader = new WireReader('frame of jobs', bytes);
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

  #event(reader: WireReader, kind: number, base: string): JobEvent | undefined {
    if (kind > NUMBERS.job) {
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

  #body(reader: WireReader, kind: number, base: string): JobEvent {
    const cursorAt = (revision: number) => formatCursor(base, revision, this.#isReplaying);
    switch (kind) {
      case NUMBERS.snapshot:
      case NUMBERS.change: {
        const state = withPayload(readStoredState(reader, this.#jobId), reader);
        const isReplay = kind === NUMBERS.snapshot;
        const cursor = formatCursor(base, state.revision, isReplay);
        return { kind: isReplay ? 'snapshot' : 'change', state, cursor };
      }
      case NUMBERS.synced: {
        const synced = MARKERS.synced.read(reader);
        return { kind: 'synced', ...synced, cursor: formatCursor(base, synced.revision) };
      }
      case NUMBERS.gap:
        return { kind: 'gap', ...MARKERS.gap.read(reader) };
      case NUMBERS.stale:
        return { kind: 'stale', ...MARKERS.stale.read(reader) };
      case NUMBERS.live: {
        const { revision } = MARKERS.live.read(reader);
        return { kind: 'live', revision, cursor: cursorAt(revision) };
      }
      case NUMBERS.lease: {
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

const writer = new WireWriter();

export function* framesOf(events: readonly EncodedEvent[]): Generator<Uint8Array> {
  let at = 0;
  while (at < events.length) {
    const { bytes, end } = frameFrom(events, at);
    yield bytes;
    at = end;
  }
}

/** All events of a frame have the same base, from which the client builds their cursors. */
function frameFrom(
  events: readonly EncodedEvent[],
  start: number,
): { readonly bytes: Uint8Array; readonly end: number } {
  const { frameEventsMax, frameBytesMax } = jobsLimits;
  const first = events[start];
  // A gap at the start has no base. It tells the client that a new one follows.
  const base = first && baseOf(first);
  writer.clear();
  writer.text(INCARNATION, base ?? '');
  let end = start;
  for (; end < events.length && end - start < frameEventsMax.value; end += 1) {
    const event = events[end];
    if (event === undefined || (baseOf(event) ?? base) !== base) break;
    const before = writer.length;
    writeEvent(event);
    if (writer.length <= frameBytesMax.value || end === start) continue;
    writer.cut(before);
    break;
  }
  return { bytes: writer.copy(), end };
}

/** The base of the event's cursor; undefined if it has none. */
function baseOf(event: EncodedEvent): string | undefined {
  if ('change' in event) return event.change.base;
  return 'base' in event ? event.base : undefined;
}

function writeEvent(event: EncodedEvent): void {
  const number = NUMBERS[event.kind];
  const outer = writer.begin(EVENTS);
  if ('change' in event) {
    writer.message(number, event.change.stored.bytes);
  } else {
    const inner = writer.begin(number);
    // Each kind has the fields of its own message.
    (MARKERS[event.kind] as Message<typeof event>).write(writer, event);
    writer.end(inner);
  }
  writer.end(outer);
}

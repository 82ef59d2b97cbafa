// Events as frames: the messages of a Subscribe stream. A change is encoded already, when it was committed or read from
// disk; a frame joins such bytes. Subscribers that get the same events at the same time share the frame.
import { unreachable } from '@syncline/kernel';
import type { EncodedEvent } from '../engine/feed-event.js';
import { jobsLimits } from '../limits.js';
import { ProtoWriter } from './proto-writer.js';
import { gapReasons, histories } from './wire-enums.js';

const INCARNATION = 1;
const EVENTS = 2;

const writer = new ProtoWriter();

/** Cuts events into frames of bounded size, in order. */
export function* framesOf(events: readonly EncodedEvent[]): Generator<Uint8Array> {
  let at = 0;
  while (at < events.length) {
    const { bytes, end } = frameFrom(events, at);
    yield bytes;
    at = end;
  }
}

/** All events of a frame have the same base: the client makes their cursors with it. */
function frameFrom(
  events: readonly EncodedEvent[],
  start: number,
): { readonly bytes: Uint8Array; readonly end: number } {
  const { frameEventsMax, frameBytesMax } = jobsLimits;
  const first = events[start];
  // A gap at the start has no base, and says that another one follows.
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

/** What its cursor starts with; undefined for an event without one. */
function baseOf(event: EncodedEvent): string | undefined {
  if ('change' in event) return event.change.base;
  return 'base' in event ? event.base : undefined;
}

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

function writeEvent(event: EncodedEvent): void {
  const outer = writer.begin(EVENTS);
  if ('change' in event) {
    writer.message(NUMBERS[event.kind], event.change.stored.bytes);
  } else {
    const inner = writer.begin(NUMBERS[event.kind]);
    writeMarker(event);
    writer.end(inner);
  }
  writer.end(outer);
}

function writeMarker(event: Exclude<EncodedEvent, { readonly change: unknown }>): void {
  switch (event.kind) {
    case 'synced':
      writer.uint(1, event.revision);
      writer.bool(2, event.resumed);
      writer.uint(3, histories.numberOf(event.history));
      return;
    case 'gap':
      writer.uint(1, gapReasons.numberOf(event.reason));
      writer.uint(2, event.fromRevision);
      writer.uint(3, event.toRevision);
      return;
    case 'stale':
      writer.uint(1, event.sinceMs);
      writer.uint(2, event.attempt);
      return;
    case 'live':
      writer.uint(1, event.revision);
      return;
    default:
      unreachable(event);
  }
}

interface Made {
  readonly events: readonly EncodedEvent[];
  readonly frames: readonly Uint8Array[];
}

/**
 * Frames for subscribers of one scope that are equally far. They are found by the last of their events and compared
 * event by event, which is comparing pointers: all subscribers of a store share the object of a change.
 */
export class FrameCache {
  /** Scopes may end with the same event, and differ before it. */
  readonly #byLast = new Map<EncodedEvent, Made[]>();
  #bytes = 0;

  /** Bytes of the frames that are kept. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The events as frames of bounded size, in order. Nobody may write into them. */
  framesOf(events: readonly EncodedEvent[]): readonly Uint8Array[] {
    const last = events.at(-1);
    if (last?.kind !== 'change') return [...framesOf(events)]; // mostly of one subscriber alone
    const there = this.#byLast.get(last);
    const same = there?.find((made) => isSame(made.events, events));
    if (same !== undefined) return same.frames;
    const made = { events, frames: [...framesOf(events)] };
    this.#keep(last, made);
    return made.frames;
  }

  clear(): void {
    this.#byLast.clear();
    this.#bytes = 0;
  }

  #keep(last: EncodedEvent, made: Made): void {
    const bytes = made.frames.reduce((sum, { length }) => sum + length, 0);
    const { value: bytesMax } = jobsLimits.sharedFramesBytesMax;
    if (this.#bytes + bytes > bytesMax) this.clear();
    if (bytes > bytesMax) return;
    this.#bytes += bytes;
    const there = this.#byLast.get(last);
    if (there === undefined) this.#byLast.set(last, [made]);
    else there.push(made);
  }
}

function isSame(some: readonly EncodedEvent[], others: readonly EncodedEvent[]): boolean {
  if (some.length !== others.length) return false;
  for (let at = 0; at < some.length; at += 1) if (some[at] !== others[at]) return false;
  return true;
}

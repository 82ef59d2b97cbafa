// Events as frames: the messages of a Subscribe stream.
//
// A change is one object that all subscribers of a store share, so its bytes are made once and kept as long as it
// lives; a frame joins such bytes. What belongs to one subscriber alone, a snapshot or a marker, is written into
// its frame directly.
import { unreachable } from '@syncline/kernel';
import { parseCursor } from '../cursor.js';
import type { JobEvent } from '../job-event.js';
import { jobsLimits } from '../limits.js';
import { jobMessage, leaseMessage } from './job-messages.js';
import { ProtoWriter } from './proto-writer.js';
import { writeState } from './state-message.js';
import { gapReasons, histories } from './wire-enums.js';

const INCARNATION = 1;
const EVENTS = 2;

const writer = new ProtoWriter();
const encoded = new WeakMap<JobEvent, Uint8Array>();

/** Cuts events into frames of bounded size, in order. */
export function* framesOf(events: readonly JobEvent[]): Generator<Uint8Array> {
  let at = 0;
  while (at < events.length) {
    const { bytes, end } = frameFrom(events, at);
    yield bytes;
    at = end;
  }
}

/** All events of a frame have the same base: the client makes their cursors with it. */
function frameFrom(
  events: readonly JobEvent[],
  start: number,
): { readonly bytes: Uint8Array; readonly end: number } {
  const { frameEventsMax, frameBytesMax } = jobsLimits;
  const base = baseFrom(events, start);
  writer.clear();
  writer.text(INCARNATION, base ?? '');
  let end = start;
  for (; end < events.length && end - start < frameEventsMax.value; end += 1) {
    const event = events[end];
    if (event === undefined || !hasBase(event, base)) break;
    const before = writer.length;
    writeEvent(event);
    if (writer.length <= frameBytesMax.value || end === start) continue;
    writer.cut(before);
    break;
  }
  return { bytes: writer.copy(), end };
}

/** Of the first event that tells; a gap at the start has none, and says that another one follows. */
function baseFrom(events: readonly JobEvent[], start: number): string | undefined {
  const event = events[start];
  return event !== undefined && 'cursor' in event ? parseCursor(event.cursor).base : undefined;
}

function hasBase(event: JobEvent, base: string | undefined): boolean {
  if (!('cursor' in event)) return true;
  return base !== undefined && event.cursor.startsWith(base) && event.cursor[base.length] === ':';
}

function writeEvent(event: JobEvent): void {
  if (event.kind !== 'change' && event.kind !== 'lease' && event.kind !== 'job') {
    writeFresh(event);
    return;
  }
  const known = encoded.get(event);
  if (known !== undefined) {
    writer.fields(known);
    return;
  }
  const start = writer.length;
  writeFresh(event);
  encoded.set(event, writer.copy(start));
}

function writeFresh(event: JobEvent): void {
  const outer = writer.begin(EVENTS);
  const inner = writer.begin(numberOf(event.kind));
  writeBody(event);
  writer.end(inner);
  writer.end(outer);
}

const NUMBERS: Readonly<Record<JobEvent['kind'], number>> = {
  snapshot: 1,
  synced: 2,
  change: 3,
  gap: 4,
  stale: 5,
  live: 6,
  lease: 7,
  job: 8,
};

function numberOf(kind: JobEvent['kind']): number {
  return NUMBERS[kind];
}

function writeBody(event: JobEvent): void {
  switch (event.kind) {
    case 'snapshot':
    case 'change':
      writeState(writer, event.state);
      return;
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
    case 'lease':
      leaseMessage.write(writer, event.lease);
      return;
    case 'job':
      jobMessage.write(writer, event.job);
      return;
    default:
      unreachable(event);
  }
}

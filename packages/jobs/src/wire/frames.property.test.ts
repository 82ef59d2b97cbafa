// What goes into frames comes out of them, including cursors, and frames stay within their limits.
import { fromBinary } from '@bufbuild/protobuf';
import { SynclineError } from '@syncline/kernel';
import { JobService } from '@syncline/protocol/jobs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { encodedEvent } from '../conformance/feed-rig.js';
import type { State } from '../job.js';
import type { JobEvent } from '../job-store.js';
import { formatCursor } from '../job-store.js';
import { jobsLimits } from '../limits.js';
import { framesOf as encodedFrames, FrameReader } from './frames.js';

const framesOf = (events: readonly JobEvent[]) =>
  encodedFrames(events.map((event) => encodedEvent(event, jobId)));

const jobId = 'nightly-42';
const revision = fc.maxSafeNat();
const state = fc.record({ revision, message: fc.string({ maxLength: 200 }) }).map(stateOf);
const lease = fc.record({
  taskId: fc.nat(),
  epoch: fc.nat(),
  state: fc.constantFrom('held', 'released', 'lost'),
  ttlMs: fc.nat(),
  expiresAtMs: fc.maxSafeNat(),
  holder: fc.string(),
  revision,
});
const job = fc.record({
  jobId: fc.constant(jobId),
  incarnation: fc.string(),
  numTasks: fc.nat(),
  expectedTags: fc.array(fc.string(), { maxLength: 3 }),
  labels: fc.record({ owner: fc.string() }),
  createdAtMs: fc.maxSafeNat(),
  revision,
  changedAtMs: fc.maxSafeNat(),
});

function stateOf(fields: { readonly revision: number; readonly message: string }): State {
  return {
    jobId,
    taskId: 3,
    tag: 'ingest',
    status: 1,
    statusClass: 'running',
    timestampMs: 1_700_000_000_000,
    version: 1,
    eventId: 'e',
    schemaVersion: 1,
    ...fields,
  };
}

const frameSchema = JobService.method.subscribe.output;
const count = fc.maxSafeNat();

/** A stream as a store sends it: a replay, its marker and what follows, then perhaps all of it again. */
const section = fc.record({
  base: fc.stringMatching(/^[a-z0-9-]{1,20}$/),
  replayed: fc.array(fc.oneof(state, lease, job), { maxLength: 20 }),
  synced: fc.record({
    revision: count,
    history: fc.constantFrom('all', 'latest'),
    resumed: fc.boolean(),
  }),
  followed: fc.array(fc.oneof(state, lease, job, count), { maxLength: 20 }),
});

function eventsOf(sections: readonly Generated<typeof section>[]): readonly JobEvent[] {
  return sections.flatMap(({ base, replayed, synced, followed }, index): JobEvent[] => [
    ...(index === 0
      ? []
      : [{ kind: 'gap', reason: 'reset', fromRevision: 3, toRevision: 3 } as const]),
    ...replayed.map((value) => eventOf(value, { base, isReplaying: true })),
    { kind: 'stale', sinceMs: 1_700_000_000_000, attempt: 2 },
    { kind: 'synced', ...synced, cursor: formatCursor(base, synced.revision) },
    ...followed.map((value) => eventOf(value, { base, isReplaying: false })),
    { kind: 'gap', reason: 'compacted', fromRevision: 4, toRevision: 400 },
  ]);
}

type Generated<A> = A extends fc.Arbitrary<infer Value> ? Value : never;
type Sample = Generated<typeof state | typeof lease | typeof job> | number;

function eventOf(
  value: Sample,
  { base, isReplaying }: { readonly base: string; readonly isReplaying: boolean },
): JobEvent {
  if (typeof value === 'number')
    return { kind: 'live', revision: value, cursor: formatCursor(base, value) };
  const cursor = formatCursor(base, value.revision, isReplaying);
  if ('epoch' in value) return { kind: 'lease', lease: value, cursor };
  if ('numTasks' in value) return { kind: 'job', job: value, cursor };
  return { kind: isReplaying ? 'snapshot' : 'change', state: value, cursor };
}

function readAll(frames: Iterable<Uint8Array>): readonly JobEvent[] {
  const reader = new FrameReader(jobId);
  return [...frames].flatMap((frame) => [...reader.read(frame)]);
}

test('events come out of frames as they went in, however they were split', () => {
  fc.assert(
    fc.property(fc.array(section, { minLength: 1, maxLength: 3 }), fc.nat(10), (sections, cut) => {
      const events = eventsOf(sections);
      const frames = [...framesOf(events.slice(0, cut)), ...framesOf(events.slice(cut))];
      expect(readAll(frames)).toEqual(events);
      expect(readAll(framesOf(events))).toEqual(events); // from the bytes that were kept
    }),
  );
});

test('frames mean the same to Protobuf-ES', () => {
  fc.assert(
    fc.property(fc.array(section, { minLength: 1, maxLength: 2 }), (sections) => {
      const events = eventsOf(sections);
      const kinds = [...framesOf(events)].flatMap((frame) =>
        fromBinary(frameSchema, frame).events.map(({ event }) => event.case),
      );
      expect(kinds).toEqual(events.map(({ kind }) => kind));
    }),
    { numRuns: 30 },
  );
});

function changes(countOf: number, message: string): readonly JobEvent[] {
  return Array.from({ length: countOf }, (_, index) => ({
    kind: 'change',
    cursor: formatCursor('17-2', index + 1),
    state: stateOf({ revision: index + 1, message }),
  }));
}

test('a frame has at most 512 events', () => {
  const frames = [...framesOf(changes(1_025, ''))];
  expect(frames.map((frame) => fromBinary(frameSchema, frame).events.length)).toEqual([
    512, 512, 1,
  ]);
});

test('a frame has at most 256 KiB', () => {
  const frames = [...framesOf(changes(200, 'x'.repeat(4_000)))];
  for (const frame of frames)
    expect(frame.length).toBeLessThanOrEqual(jobsLimits.frameBytesMax.value);
  expect(frames.length).toBe(4);
});

test('bytes that are not a frame are refused', () => {
  const [whole = new Uint8Array()] = framesOf(changes(3, 'message'));
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 30 }), fc.nat(whole.length), (junk, at) => {
      const spoilt = Buffer.concat([whole.subarray(0, at), junk, whole.subarray(at)]);
      for (const hostile of [junk, spoilt, whole.subarray(0, at)]) {
        try {
          new FrameReader(jobId).read(hostile);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(SynclineError);
        }
      }
    }),
    { numRuns: 500 },
  );
});

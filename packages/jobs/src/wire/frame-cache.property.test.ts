// Shared frames hold what frames of one's own would, whoever else gets frames meanwhile.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatCursor } from '../cursor.js';
import type { JobEvent } from '../job-event.js';
import { jobsLimits } from '../limits.js';
import type { State } from '../state.js';
import { FrameCache } from './frame-cache.js';
import { framesOf } from './frame-writer.js';

function changeAt(revision: number, message = 'm'): JobEvent {
  const state: State = {
    jobId: 'nightly-42',
    taskId: revision % 3,
    tag: 'ingest',
    status: 1,
    statusClass: 'running',
    message,
    timestampMs: 5,
    version: 1,
    revision,
    eventId: 'e',
    schemaVersion: 1,
  };
  return { kind: 'change', state, cursor: formatCursor('17-2', revision) };
}

test('frames equal those that are made for one subscriber alone', () => {
  const all = Array.from({ length: 12 }, (_, index) => changeAt(index + 1));
  const some = fc.subarray(all, { minLength: 1 });
  fc.assert(
    fc.property(fc.array(fc.option(some), { maxLength: 30 }), (batches) => {
      const cache = new FrameCache();
      for (const events of batches) {
        if (events === null) cache.clear();
        else expect(cache.framesOf(events)).toEqual([...framesOf(events)]);
      }
    }),
  );
});

test('who gets the same events gets the same frames, also if others end with the same event', () => {
  const [a, b, c] = [changeAt(1), changeAt(2), changeAt(3)];
  const cache = new FrameCache();
  const ofAll = cache.framesOf([a, b, c]);
  const ofTag = cache.framesOf([b, c]);
  expect(cache.framesOf([a, b, c])).toBe(ofAll);
  expect(cache.framesOf([b, c])).toBe(ofTag);
  cache.clear();
  expect(cache.framesOf([b, c])).not.toBe(ofTag);
});

test('a snapshot belongs to one subscriber and is not kept', () => {
  const cache = new FrameCache();
  cache.framesOf([{ kind: 'live', revision: 3, cursor: formatCursor('17-2', 3) }]);
  expect(cache.bytes).toBe(0);
});

test('what is kept never passes 1 MiB', () => {
  const cache = new FrameCache();
  const { value: bytesMax } = jobsLimits.sharedFramesBytesMax;
  let mostBytes = 0;
  for (let revision = 1; revision <= 400; revision += 1) {
    cache.framesOf([changeAt(revision, 'x'.repeat(4_000))]);
    expect(cache.bytes).toBeLessThanOrEqual(bytesMax);
    mostBytes = Math.max(mostBytes, cache.bytes);
  }
  expect(mostBytes).toBeGreaterThan(bytesMax - 5_000);
});

import { expect, test } from 'vitest';
import { RetentionMarks } from './job-mirror.js';

const NEVER = Number.MAX_SAFE_INTEGER;

function marks(options: Partial<ConstructorParameters<typeof RetentionMarks>[0]>) {
  const all = {
    retentionRevisionsMax: NEVER,
    retentionMs: NEVER,
    retentionBytesMax: NEVER,
    ...options,
  };
  return new RetentionMarks(all, { revision: 0, timestampMs: 0 });
}

test('a change followed by too many others is outside', () => {
  const retention = marks({ retentionRevisionsMax: 10 });
  for (let revision = 1; revision <= 25; revision += 1) retention.note(revision, 0, 1);
  expect(retention.outside(25, 0)).toBe(15);
});

test('a change that is too old is outside', () => {
  const retention = marks({ retentionRevisionsMax: 1_000, retentionMs: 100 });
  for (let revision = 1; revision <= 30; revision += 1) retention.note(revision, revision * 10, 1);
  const outside = retention.outside(30, 300);
  expect(outside).toBeLessThanOrEqual(20);
  expect(outside).toBeGreaterThan(10); // a mark every third revision
  expect(retention.outside(30, 10_000)).toBe(30);
});

test('a change followed by too many bytes is outside', () => {
  const retention = marks({ retentionRevisionsMax: 256, retentionBytesMax: 50 });
  for (let revision = 1; revision <= 20; revision += 1) retention.note(revision, 0, 10);
  expect(retention.outside(20, 0)).toBe(15);
});

test('earlier changes count as written at the last change', () => {
  const options = { retentionRevisionsMax: 1_000, retentionMs: 100, retentionBytesMax: NEVER };
  const retention = new RetentionMarks(options, { revision: 50, timestampMs: 500 });
  expect(retention.outside(50, 599)).toBe(0);
  expect(retention.outside(50, 600)).toBe(50);
});

test('the number of marks is bounded by retention', () => {
  const retention = marks({ retentionRevisionsMax: 1_000, retentionMs: 10 });
  for (let revision = 1; revision <= 5_000; revision += 1) {
    retention.note(revision, revision, 1);
    expect(retention.outside(revision, revision)).toBeGreaterThanOrEqual(revision - 20);
  }
});

test('a job at rest is outside as a whole, however few its changes', () => {
  const retention = marks({ retentionRevisionsMax: 100_000, retentionMs: 1_000 });
  for (let revision = 1; revision <= 389; revision += 1) retention.note(revision, revision, 1);
  expect(retention.outside(389, 1_388)).toBe(0);
  expect(retention.outside(389, 1_389)).toBe(389);
});

test('few large changes are outside by their bytes', () => {
  const retention = marks({ retentionRevisionsMax: 100_000, retentionBytesMax: 1_000 });
  for (let revision = 1; revision <= 30; revision += 1) retention.note(revision, 0, 100);
  expect(retention.outside(30, 0)).toBe(20);
});

test('J20 retentionBytesMax bytes are kept, and no more', () => {
  for (const [last, outside] of [
    [99, 0],
    [100, 1],
    [101, 1],
  ] as const) {
    const retention = marks({ retentionRevisionsMax: 100_000, retentionBytesMax: 100 });
    retention.note(1, 0, 50);
    retention.note(2, 0, last);
    expect(retention.outside(2, 0)).toBe(outside);
  }
});

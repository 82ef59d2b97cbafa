import { type Cursor, type JobEvent, JobFold, type JobInfo, statusClass } from '@syncline/jobs';
import type { Clock } from '@syncline/kernel';
import { createSystemClock } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { JobWatch } from './job-watch.js';

const JOB: JobInfo = {
  jobId: 'nightly',
  incarnation: '1',
  numTasks: 2,
  expectedTags: ['ingest'],
  labels: {},
  createdAtMs: 0,
  changedAtMs: 0,
  revision: 1,
};
const cursor = '1:1' as Cursor;
const synced = { kind: 'synced', revision: 1, cursor, history: 'all', resumed: false } as const;
const live = { kind: 'live', revision: 1, cursor } as const;
const WALL_MS = 1_700_000_000_000;

function startWatch() {
  let passedMs = 0;
  const clock: Clock = {
    ...createSystemClock(),
    monotonicMs: () => passedMs,
    nowMs: () => WALL_MS + passedMs,
  };
  const watch = new JobWatch({ clock, fold: new JobFold(JOB, {}) }, {});
  const pass = (ms: number) => {
    passedMs += ms;
  };
  return { watch, pass };
}

test('after `stale` the job is not live and its data ages, even if keep-alives arrive', () => {
  const { watch, pass } = startWatch();
  watch.take({ kind: 'events', events: [synced] });
  expect(watch.picture()).toMatchObject({ connection: { kind: 'live' }, ageMs: 0 });
  pass(10_000);
  const stale = { kind: 'stale', sinceMs: WALL_MS + 4_000, attempt: 2 } as const;
  watch.take({ kind: 'events', events: [stale] });
  pass(1_000);
  watch.take({ kind: 'events', events: [] });
  expect(watch.picture()).toMatchObject({
    connection: { kind: 'stale', attempt: 2 },
    ageMs: 7_000,
  });
  watch.take({ kind: 'events', events: [live] });
  expect(watch.picture()).toMatchObject({ connection: { kind: 'live' }, ageMs: 0 });
});

test('a server clock that is ahead does not produce a negative age', () => {
  const { watch } = startWatch();
  const stale = { kind: 'stale', sinceMs: WALL_MS + 60_000, attempt: 1 } as const;
  watch.take({ kind: 'events', events: [synced, stale] });
  expect(watch.picture().ageMs).toBe(0);
});

test('a restored connection counts as a keep-alive', () => {
  const { watch, pass } = startWatch();
  watch.take({ kind: 'events', events: [synced] });
  const event = { kind: 'stale', sinceMs: WALL_MS, attempt: 1 } as const;
  watch.take({ kind: 'down', reason: 'connection refused', event });
  pass(3_000);
  expect(watch.picture()).toMatchObject({ connection: { kind: 'down' }, ageMs: 3_000 });
  watch.take({ kind: 'events', events: [] });
  expect(watch.picture()).toMatchObject({ connection: { kind: 'live' }, ageMs: 0 });
});

const finished = 2_147_483_647;

function changeOf(taskId: number, status: number, revision: number): JobEvent {
  const key = { jobId: 'nightly', taskId, tag: 'ingest', message: '', eventId: 'e' };
  const state = { ...key, status, statusClass: statusClass(status), schemaVersion: 1 };
  return {
    kind: 'change',
    state: { ...state, timestampMs: 0, version: 1, revision },
    cursor,
  };
}

test('after an overflow gap a job has not ended because a mixture of old and new states has', () => {
  const { watch } = startWatch();
  const take = (...events: JobEvent[]) => watch.take({ kind: 'events', events });
  expect(take(synced, changeOf(0, finished, 2), changeOf(1, 1, 3))).toBeUndefined();
  const gap = { kind: 'gap', reason: 'overflow', fromRevision: 3, toRevision: 6 } as const;
  // Task 0 runs again since revision 4; its latest state comes after that of task 1.
  expect(take(gap, changeOf(1, finished, 5))).toBeUndefined();
  expect(take(changeOf(0, 1, 6), { ...live, revision: 6 })).toBeUndefined();
  expect(take(changeOf(0, finished, 7))).toBe('finished');
});

test('with history latest a job has not ended because a mixture of old and new states has', () => {
  const { watch } = startWatch();
  const take = (...events: JobEvent[]) => watch.take({ kind: 'events', events });
  expect(take({ ...synced, history: 'latest' })).toBeUndefined();
  expect(take(changeOf(0, finished, 2), changeOf(1, 1, 3))).toBeUndefined();
  // Task 0 runs again since revision 4, but that state was overwritten by the one of revision 6.
  expect(take(changeOf(1, finished, 5))).toBeUndefined();
  expect(take(changeOf(0, 1, 6), { ...live, revision: 6 })).toBeUndefined();
  expect(take(changeOf(0, finished, 7))).toBeUndefined();
  expect(take({ ...live, revision: 7 })).toBe('finished');
});

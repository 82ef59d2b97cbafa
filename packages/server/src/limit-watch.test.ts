import { type Clock, createSystemClock, silentMetrics } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { LimitWatch } from './limit-watch.js';
import { type LogLine, recordingLogger } from './testing/test-server.js';

test('a limit that is reached all the time is logged once a minute, with a count', () => {
  const log: LogLine[] = [];
  let nowMs = 1_000_000;
  const clock: Clock = { ...createSystemClock(), nowMs: () => nowMs, monotonicMs: () => nowMs };
  const watch = new LimitWatch({ clock, logger: recordingLogger(log), metrics: silentMetrics });
  for (let second = 0; second < 61; second += 1) {
    for (let hit = 0; hit < 100; hit += 1) watch.reached('server', 'httpBodyBytesMax');
    nowMs += 1_000;
  }
  expect(log.map(({ fields }) => fields['times'])).toEqual([1, 6_000]);
  watch.reached('jobs', 'tagsMax');
  expect(watch.reachedLimits()).toEqual([
    { package: 'jobs', limit: 'tagsMax', count: 1, lastMs: nowMs },
    { package: 'server', limit: 'httpBodyBytesMax', count: 6_100, lastMs: nowMs - 1_000 },
  ]);
});

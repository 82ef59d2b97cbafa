// The rows of a job's timeline.
import { expect, test } from 'vitest';
import { timelineOf } from './timeline.js';

test('the timeline ends now, with the values after the last change', () => {
  const history = [
    [1_000, 2, 0, 0, 0, 0],
    [3_000, 0, 1, 1, 0, 0],
  ];
  expect(timelineOf(history, 9_000)).toEqual([
    [1, 3, 9],
    [0, 1, 1],
    [0, 1, 1],
    [0, 0, 0],
    [0, 0, 0],
  ]);
  expect(timelineOf(history, 3_000)[0]).toEqual([1, 3]);
  expect(timelineOf([], 9_000)).toEqual([[9], [0], [0], [0], [0]]);
});

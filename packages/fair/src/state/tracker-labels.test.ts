import { expect, test } from 'vitest';
import { fairLimits } from '../limits.js';
import { TrackerLabels } from './state-options.js';

test('changing names create no more label values than there may be trackers', () => {
  const labels = new TrackerLabels();
  const values = new Set(['default']);
  for (let index = 0; index < 1_000; index += 1) values.add(labels.labelOf(`tracker-${index}`));
  expect(values.size).toBe(fairLimits.trackersMax.value);
  expect(labels.labelOf('tracker-0')).toBe('tracker-0');
  expect(labels.labelOf('tracker-999')).toBe('other');
  expect(labels.labelOf('default')).toBe('other');
});

// What waits for a commit, at its limits.
import { silentMetrics } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { jobsLimits } from '../limits.js';
import { WriteQueueQuota } from './write-queue-quota.js';

const { writeQueueMax, writeQueueBytesMax } = jobsLimits;

test('J20 as many writes wait as the limit says, and one more once one has left', () => {
  const quota = new WriteQueueQuota(silentMetrics);
  for (let count = 0; count < writeQueueMax.value; count += 1) quota.take(1);
  const refusal = expect.objectContaining({
    code: 'overloaded',
    details: { limit: 'writeQueueMax' },
  });
  expect(() => quota.take(1)).toThrow(refusal);
  quota.giveBack(1);
  quota.take(1);
  expect(() => quota.take(1)).toThrow(refusal);
});

test('J20 as many bytes wait as the limit says, and the refusal names that limit', () => {
  const quota = new WriteQueueQuota(silentMetrics);
  quota.take(writeQueueBytesMax.value - 1);
  quota.take(1);
  const refusal = expect.objectContaining({
    code: 'overloaded',
    details: { limit: 'writeQueueBytesMax' },
  });
  expect(() => quota.take(1)).toThrow(refusal);
  quota.giveBack(1);
  quota.take(1);
});

import { expect, test } from 'vitest';
import { SharedQuota } from './shared-quota.js';

test('what one takes is not available to others until it is released', () => {
  const quota = new SharedQuota(10);
  expect([quota.tryTake(6), quota.tryTake(4), quota.tryTake(1)]).toEqual([true, true, false]);
  expect(quota.used).toBe(10);
  quota.release(4);
  expect([quota.tryTake(5), quota.tryTake(4)]).toEqual([false, true]);
});

test('S10 releasing more than was taken fails', () => {
  const quota = new SharedQuota(10);
  quota.tryTake(3);
  expect(() => quota.release(4)).toThrow('S10');
});

// A bounded number of calls at once.
import { expect, test } from 'vitest';
import { CallSlots } from './call-slots.js';

test('no more calls than slots are under way, and all of them run, failures too', async () => {
  const slots = new CallSlots(2);
  let running = 0;
  let most = 0;
  const call = async (index: number) => {
    running += 1;
    most = Math.max(most, running);
    await Promise.resolve();
    running -= 1;
    if (index === 1) throw new Error('one fails');
    return index;
  };
  const answers = await Promise.allSettled(
    Array.from({ length: 6 }, (_, index) => slots.run(() => call(index))),
  );
  expect(most).toBe(2);
  expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
});

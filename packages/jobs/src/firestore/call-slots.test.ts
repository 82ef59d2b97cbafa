// A bounded number of calls at once.
import { expect, test } from 'vitest';
import { jobsLimits } from '../limits.js';
import { CallSlots } from './call-slots.js';

const wanted = new AbortController().signal;

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
    Array.from({ length: 6 }, (_, index) => slots.run(() => call(index), wanted)),
  );
  expect(most).toBe(2);
  expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
});

test('a call that nobody wants any more never runs, and its place goes to the next', async () => {
  const slots = new CallSlots(1);
  let finish = () => {};
  const first = slots.run(() => new Promise<void>((resolve) => (finish = resolve)), wanted);
  const ran: string[] = [];
  const unwanted = new AbortController();
  const second = slots.run(async () => ran.push('second'), unwanted.signal);
  const third = slots.run(async () => ran.push('third'), wanted);
  unwanted.abort();
  await expect(second).rejects.toMatchObject({ code: 'aborted' });
  finish();
  await Promise.all([first, third]);
  expect(ran).toEqual(['third']);
});

test('J20 no more calls wait than the limit', async () => {
  const { value: waitingMax } = jobsLimits.firestoreCallsWaitingMax;
  const slots = new CallSlots(1);
  const stops: AbortController[] = [];
  const never = () => {
    const stop = new AbortController();
    stops.push(stop);
    return slots.run(() => new Promise<never>(() => {}), stop.signal);
  };
  void never();
  const waiting = Array.from({ length: waitingMax }, never);
  await expect(never()).rejects.toMatchObject({
    code: 'overloaded',
    details: { limit: 'firestoreCallsWaitingMax' },
  });
  for (const stop of stops) stop.abort();
  const ends = await Promise.allSettled(waiting);
  expect(ends.every(({ status }) => status === 'rejected')).toBe(true);
});

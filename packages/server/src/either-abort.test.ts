import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { EitherAbort } from './either-abort.js';

test('either source fires it, even one that was already aborted', () => {
  for (const first of [true, false]) {
    const [one, two] = [new AbortController(), new AbortController()];
    const either = new EitherAbort(one.signal, two.signal);
    expect(either.signal.aborted).toBe(false);
    (first ? one : two).abort();
    expect(either.signal.aborted).toBe(true);
    expect(new EitherAbort(one.signal, two.signal).signal.aborted).toBe(true);
  }
});

test('it never fires after release', () => {
  const [one, two] = [new AbortController(), new AbortController()];
  const either = new EitherAbort(one.signal, two.signal);
  either.release();
  for (const { signal } of [one, two]) expect(getEventListeners(signal, 'abort')).toEqual([]);
  one.abort();
  expect(either.signal.aborted).toBe(false);
});

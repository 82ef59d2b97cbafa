import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { AbortableWaits } from './abortable-waits.js';

test('a wait settles like its promise', async () => {
  const waits = new AbortableWaits(new AbortController().signal);
  expect(await waits.wait(Promise.resolve(7))).toBe(7);
  await expect(waits.wait(Promise.reject(new Error('no')))).rejects.toThrow('no');
});

test('the signal ends the current wait and all later ones, and a late rejection is handled', async () => {
  const stop = new AbortController();
  const waits = new AbortableWaits(stop.signal);
  let fail: (error: Error) => void = () => expect.unreachable();
  const waiting = waits.wait(new Promise((_resolve, reject) => (fail = reject)));
  stop.abort();
  expect(await waiting).toBe('aborted');
  fail(new Error('too late'));
  expect(await waits.wait(new Promise(() => undefined))).toBe('aborted');
});

test('any number of waits share one listener', async () => {
  const { signal } = new AbortController();
  const waits = new AbortableWaits(signal);
  for (let n = 0; n < 20; n += 1) await waits.wait(Promise.resolve(n));
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
});

// The real clock. Timers are exact in one direction: they may fire late, never early.
//
// Node truncates timers to whole milliseconds of its own loop time, so that a plain `setTimeout` can
// fire up to a millisecond before `performance.now()` says so, and it fires at once beyond 2^31 - 1 ms.
// Both are fixed here by reading the monotonic clock when a timer fires and waiting for the rest.
//
// K60  A timer or sleep never fires before its time, at any length.
// K61  A sleep ends at once when its signal fires, and leaves no timer and no listener behind.
import { assert } from './assert.js';
import type { Clock, Timer } from './clock.js';
import { abortedError } from './error.js';

/** The longest delay that Node accepts; it would turn a longer one into 1 ms. */
const DELAY_MS_MAX = 2 ** 31 - 1;

export function createSystemClock(): Clock {
  const { performance: source } = globalThis; // a getter, which costs half as much as reading the clock
  return {
    nowMs: () => Date.now(),
    monotonicMs: () => source.now(),
    sleep,
    setTimer: (ms, callback, options) => startTimer(ms, callback, options?.unref ?? false),
    defer,
  };
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(abortedError('a sleep', signal));
    const timer = startTimer(ms, finish, false);
    signal?.addEventListener('abort', abort);

    function finish(): void {
      signal?.removeEventListener('abort', abort);
      resolve();
    }
    function abort(this: AbortSignal): void {
      timer.cancel();
      this.removeEventListener('abort', abort);
      reject(abortedError('a sleep', this));
    }
  });
}

function startTimer(ms: number, callback: () => void, unref: boolean): Timer {
  assert(!Number.isNaN(ms), 'a delay is a number of milliseconds');
  const dueMs = performance.now() + ms;
  let handle = wait();
  return { cancel: () => clearTimeout(handle) };

  function wait(): NodeJS.Timeout {
    const leftMs = Math.ceil(dueMs - performance.now());
    const timeout = setTimeout(fire, Math.min(Math.max(leftMs, 0), DELAY_MS_MAX));
    if (unref) timeout.unref?.(); // browsers have no `unref`: there a timer keeps nothing alive
    return timeout;
  }
  function fire(): void {
    if (performance.now() >= dueMs) callback();
    else handle = wait();
  }
}

function defer(callback: () => void): Timer {
  if (typeof setImmediate !== 'function') return startTimer(0, callback, false); // browsers
  const handle = setImmediate(callback);
  return { cancel: () => clearImmediate(handle) };
}

import { afterEach, describe, expect, it, vi } from 'vitest';
import { clockSuite } from './conformance/clock-suite.js';
import { createSystemClock } from './system-clock.js';

describe('the system clock', () => {
  for (const { name, run } of clockSuite(async () => ({
    clock: createSystemClock(),
    async [Symbol.asyncDispose]() {},
  })))
    it(name, run);
});

describe('long timers', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  // Without an `await` while timers are fake: code of other files in this worker would get fake ones too.
  it('K60 a sleep of 60 days ends after 60 days', async () => {
    vi.useFakeTimers();
    const clock = createSystemClock();
    const days60Ms = 60 * 86_400_000;
    let fired = false;
    clock.setTimer(days60Ms, () => {
      fired = true;
    });
    const sleeping = clock.sleep(days60Ms);
    vi.advanceTimersByTime(days60Ms - 1);
    expect(fired).toBe(false);
    expect(vi.getTimerCount()).toBe(2);
    vi.advanceTimersByTime(1);
    expect(fired).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
    await sleeping;
  });

  it('K61 an aborted long sleep leaves no timer', async () => {
    vi.useFakeTimers();
    const controller = new AbortController();
    const sleeping = createSystemClock().sleep(60 * 86_400_000, controller.signal);
    vi.advanceTimersByTime(2 ** 31 + 10); // in its second stretch
    controller.abort();
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
    await expect(sleeping).rejects.toMatchObject({ code: 'aborted' });
  });

  it('an unreferenced timer does not keep a process alive, even when it waits again', () => {
    const referenced = process.getActiveResourcesInfo().length;
    const timer = createSystemClock().setTimer(60_000, () => {}, { unref: true });
    expect(process.getActiveResourcesInfo().length).toBe(referenced);
    timer.cancel();
  });
});

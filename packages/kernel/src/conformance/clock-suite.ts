// The contract of every Clock, real or simulated. Waits only through the clock itself, so that
// a simulation can run it at its own pace.
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import type { Clock } from '../clock.js';
import { casesFor } from './conformance-case.js';

export interface ClockSubject {
  readonly clock: Clock;
}

/** `create` is called once per case. */
export function clockSuite(create: () => Promise<ClockSubject & AsyncDisposable>) {
  return casesFor(create, {
    'wall time is a number of ms since 1970': wallTimeIsNumber,
    'monotonic time never goes back': monotonicNeverGoesBack,
    'K60 a sleep never ends early': sleepNeverEndsEarly,
    'K60 a timer fires once and never early': timerFiresOnceAndNeverEarly,
    'K60 a timer of more than 2^31 ms does not fire at once': longTimerDoesNotFireAtOnce,
    'timers fire in the order of their due times': timersFireInOrder,
    'a cancelled timer does not fire': cancelledTimerDoesNotFire,
    'K61 a sleep with a fired signal rejects at once': abortedSleepRejectsAtOnce,
    'K61 a sleep ends when its signal fires': sleepEndsWhenSignalFires,
    'K61 a finished sleep leaves no listener on its signal': sleepLeavesNoListener,
    'defer calls back later, in order, after promises': deferCallsBackLater,
    'a cancelled defer does not call back': cancelledDeferDoesNotCallBack,
  });
}

async function wallTimeIsNumber({ clock }: ClockSubject): Promise<void> {
  assert.ok(Number.isFinite(clock.nowMs()) && clock.nowMs() >= 0);
}

async function monotonicNeverGoesBack({ clock }: ClockSubject): Promise<void> {
  let previousMs = clock.monotonicMs();
  for (let read = 0; read < 1_000; read += 1) {
    const nowMs = clock.monotonicMs();
    assert.ok(nowMs >= previousMs, `${nowMs} came after ${previousMs}`);
    previousMs = nowMs;
  }
}

async function sleepNeverEndsEarly({ clock }: ClockSubject): Promise<void> {
  for (const ms of [-1, 0, 0.3, 1, 1.7, 5, 20]) {
    const startMs = clock.monotonicMs();
    await clock.sleep(ms);
    const elapsedMs = clock.monotonicMs() - startMs;
    assert.ok(elapsedMs >= ms, `a sleep of ${ms} ms ended after ${elapsedMs}`);
  }
}

async function timerFiresOnceAndNeverEarly({ clock }: ClockSubject): Promise<void> {
  const firedMs: number[] = [];
  const startMs = clock.monotonicMs();
  const timer = clock.setTimer(5, () => firedMs.push(clock.monotonicMs() - startMs));
  await clock.sleep(20);
  timer.cancel(); // after it fired: does nothing
  assert.equal(firedMs.length, 1);
  assert.ok((firedMs[0] ?? 0) >= 5, `fired after ${firedMs[0]} ms`);
}

async function longTimerDoesNotFireAtOnce({ clock }: ClockSubject): Promise<void> {
  for (const ms of [2 ** 31, 2 ** 31 + 5, 2 ** 40, Number.POSITIVE_INFINITY]) {
    let fired = false;
    const timer = clock.setTimer(ms, () => {
      fired = true;
    });
    await clock.sleep(10);
    timer.cancel();
    assert.equal(fired, false, `a timer of ${ms} ms fired`);
  }
}

async function timersFireInOrder({ clock }: ClockSubject): Promise<void> {
  const fired: string[] = [];
  clock.setTimer(30, () => fired.push('30'));
  clock.setTimer(10, () => fired.push('10'));
  clock.setTimer(20, () => fired.push('20'), { unref: true });
  await clock.sleep(50);
  assert.deepEqual(fired, ['10', '20', '30']);
}

async function cancelledTimerDoesNotFire({ clock }: ClockSubject): Promise<void> {
  let fired = false;
  const timer = clock.setTimer(5, () => {
    fired = true;
  });
  timer.cancel();
  timer.cancel();
  await clock.sleep(20);
  assert.equal(fired, false);
}

async function abortedSleepRejectsAtOnce({ clock }: ClockSubject): Promise<void> {
  const startMs = clock.monotonicMs();
  const reason = new Error('given up');
  await assert.rejects(clock.sleep(60_000, AbortSignal.abort(reason)), {
    code: 'aborted',
    cause: reason,
  });
  assert.ok(clock.monotonicMs() - startMs < 30_000);
}

async function sleepEndsWhenSignalFires({ clock }: ClockSubject): Promise<void> {
  const startMs = clock.monotonicMs();
  const controller = new AbortController();
  clock.setTimer(5, () => controller.abort());
  await assert.rejects(clock.sleep(60_000, controller.signal), { code: 'aborted' });
  assert.ok(clock.monotonicMs() - startMs < 30_000);
  assert.deepEqual(getEventListeners(controller.signal, 'abort'), []);
}

async function sleepLeavesNoListener({ clock }: ClockSubject): Promise<void> {
  const { signal } = new AbortController();
  await clock.sleep(1, signal);
  assert.deepEqual(getEventListeners(signal, 'abort'), []);
}

async function deferCallsBackLater({ clock }: ClockSubject): Promise<void> {
  const order: string[] = [];
  clock.defer(() => order.push('first'));
  clock.defer(() => order.push('second'));
  void Promise.resolve().then(() => order.push('promise'));
  order.push('now');
  await new Promise<void>((resolve) => clock.defer(resolve));
  assert.deepEqual(order, ['now', 'promise', 'first', 'second']);
}

async function cancelledDeferDoesNotCallBack({ clock }: ClockSubject): Promise<void> {
  let called = false;
  const deferred = clock.defer(() => {
    called = true;
  });
  deferred.cancel();
  await new Promise<void>((resolve) => clock.defer(resolve));
  assert.equal(called, false);
}

import type { Clock } from '@syncline/kernel';
import { runInSimulation } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { FrameBeat } from './job-grpc-stream.js';

test('all streams wait for the same beat, 5 ms after the first of them', () =>
  runInSimulation('beat', async ({ clock }) => {
    const beat = new FrameBeat({ clock });
    const startMs = clock.monotonicMs();
    const elapsed = async () => {
      await beat.next();
      return clock.monotonicMs() - startMs;
    };
    const first = elapsed();
    await clock.sleep(3);
    const second = elapsed();
    expect(await Promise.all([first, second])).toEqual([5, 5]);
    expect(await elapsed()).toBe(10);
  }));

test('the longer sending takes the longer the next beat waits: four times as long, and 15 ms at most', () =>
  runInSimulation('slow sending', async ({ clock }) => {
    let sentForMs = 0;
    const slow: Clock = {
      nowMs: () => clock.nowMs(),
      monotonicMs: () => clock.monotonicMs() + sentForMs,
      sleep: (ms, signal) => clock.sleep(ms, signal),
      setTimer: (ms, callback) => clock.setTimer(ms, callback),
      defer: (callback) => clock.defer(callback),
    };
    const beat = new FrameBeat({ clock: slow });
    const waits: number[] = [];
    for (const sendingMs of [1, 3, 10, 0, 0]) {
      const startMs = clock.monotonicMs();
      await beat.next();
      waits.push(clock.monotonicMs() - startMs);
      sentForMs += sendingMs;
    }
    expect(waits).toEqual([5, 5, 12, 15, 5]);
  }));

test('16 streams are woken in a turn of the event loop, the others in the next ones, in order', () =>
  runInSimulation('many streams', async ({ clock }) => {
    const turns: (() => void)[] = [];
    const stepped: Clock = {
      nowMs: () => clock.nowMs(),
      monotonicMs: () => clock.monotonicMs(),
      sleep: (ms, signal) => clock.sleep(ms, signal),
      setTimer: (ms, callback) => clock.setTimer(ms, callback),
      defer: (callback) => {
        turns.push(callback);
        return { cancel: () => {} };
      },
    };
    const beat = new FrameBeat({ clock: stepped });
    const woken: string[] = [];
    for (let index = 0; index < 17; index += 1) void beat.next().then(() => woken.push('beat'));
    void beat.turn().then(() => woken.push('turn'));
    expect(turns.length).toBe(1);
    await clock.sleep(6); // the beat finds turns in progress
    expect(woken).toEqual([]);
    turns.shift()?.();
    await clock.sleep(1);
    expect(woken).toEqual(['turn', ...Array.from({ length: 15 }, () => 'beat')]);
    turns.shift()?.();
    await clock.sleep(1);
    expect(woken.length).toBe(18);
  }));

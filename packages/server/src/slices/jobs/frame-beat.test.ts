import { runInSimulation } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { FrameBeat } from './frame-beat.js';

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

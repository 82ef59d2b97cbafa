import type { Clock } from '@syncline/kernel';
import { runInSimulation } from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import { TimerCount } from '../conformance/timer-count.js';
import { createFeedRig, take } from './testing/feed-rig.js';

/** What comes within a time. The stream then has a pull that waits. */
async function within(clock: Clock, ms: number, next: Promise<readonly string[]>) {
  const nothing = clock.sleep(ms).then(() => 'nothing' as const);
  return Promise.race([next, nothing]);
}

describe('time and the feed of a job', () => {
  test('J10 an idle subscriber hears live every 10 s, which moves the cursor of a narrow scope', () =>
    runInSimulation('idle', async ({ clock }) => {
      const { feed, write, subscribe } = createFeedRig({ clock });
      const subscription = subscribe({ scope: { taskId: 3 } });
      const stream = subscription[Symbol.asyncIterator]();
      await take(stream, 1);
      const first = take(stream, 1);
      await clock.sleep(1_000);
      write('0a', '1a');
      expect(await within(clock, 8_900, first)).toBe('nothing');
      expect(await within(clock, 200, first)).toEqual(['live i1:2']);
      expect(subscription.cursor).toBe('i1:2');
      const second = take(stream, 1);
      await clock.sleep(5_000);
      write('3a');
      expect(await second).toEqual(['change 3a i1:3']);
      const third = take(stream, 1);
      expect(await within(clock, 9_900, third)).toBe('nothing');
      expect(await within(clock, 200, third)).toEqual(['live i1:3']);
      feed.close();
    }));

  test('J21 leaves no timer behind when it is closed', () =>
    runInSimulation('timers', async (ports) => {
      const clock = new TimerCount(ports.clock);
      const { feed, source, write, subscribe } = createFeedRig({ clock, pageMax: 1 });
      write('0a', '1a', '2a');
      const live = subscribe()[Symbol.asyncIterator]();
      await take(live, 4);
      const waiting = take(live, 1);
      const replaying = subscribe()[Symbol.asyncIterator]();
      await take(replaying, 1);
      await clock.sleep(1);
      expect(clock.pending).toBe(2);
      feed.close();
      expect(await waiting).toEqual(['end']);
      await clock.sleep(1);
      expect([clock.pending, source.openViewsCount]).toEqual([0, 0]);
    }));

  test('J8 a replay slower than 30 s lets its view go and goes on from a newer one', () =>
    runInSimulation('slow', async ({ clock }) => {
      const { source, feed, write, subscribe } = createFeedRig({ clock, pageMax: 1 });
      write('0a', '1a', '2a');
      const stream = subscribe()[Symbol.asyncIterator]();
      expect(await take(stream, 2)).toEqual(['snapshot 0a i1:1~', 'snapshot 1a i1:2~']);
      write('0a', '3a');
      await clock.sleep(29_000);
      expect(source.openViewsCount).toBe(1);
      await clock.sleep(2_000);
      expect(source.openViewsCount).toBe(0);
      expect(await take(stream, 4)).toEqual([
        'snapshot 2a i1:3~',
        'snapshot 0a i1:4~',
        'snapshot 3a i1:5~',
        'synced i1:5 all',
      ]);
      expect(source.openViewsCount).toBe(0);
      feed.close();
    }));

  test('replay and delivery are measured in seconds', () =>
    runInSimulation('measured', async ({ clock }) => {
      const measured: unknown[] = [];
      const metrics = {
        add() {},
        set() {},
        observe: (name: string, value: number) => void measured.push([name, value]),
      };
      const rig = createFeedRig({ clock, metrics, beforeRead: () => clock.sleep(500) });
      const stream = rig.subscribe()[Symbol.asyncIterator]();
      await take(stream, 1);
      const first = take(stream, 1);
      await clock.sleep(1);
      rig.write('0a');
      await first;
      rig.write('0a');
      await clock.sleep(2_000);
      await take(stream, 1);
      expect(measured).toEqual([
        ['syncline_jobs_replay_duration_seconds', 0.5],
        ['syncline_jobs_live_delivery_seconds', 0],
        ['syncline_jobs_live_delivery_seconds', 2],
      ]);
      rig.feed.close();
    }));
});

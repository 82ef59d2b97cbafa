import { ManualTimers } from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import { settle } from '../conformance/feed-rig.js';
import { Slots } from './slots.js';

describe('slots for views', () => {
  const { clock } = new ManualTimers();

  test('above the limit, callers wait and are served in order', async () => {
    const slots = new Slots({ clock }, 2);
    const order: string[] = [];
    const [first] = await Promise.all([slots.take(), slots.take()]);
    const later = ['third', 'fourth'].map(async (name) => {
      const slot = await slots.take();
      order.push(name);
      return slot;
    });
    await settle();
    expect([slots.taken.size, order]).toEqual([2, []]);
    first.release();
    await settle();
    expect([slots.taken.size, order]).toEqual([2, ['third']]);
    (await later[0])?.release();
    (await later[1])?.release();
    expect([slots.taken.size, order]).toEqual([1, ['third', 'fourth']]);
    expect(() => first.release()).toThrow('once');
  });

  test('a caller that gives up leaves the queue', async () => {
    const slots = new Slots({ clock }, 1);
    const { release } = await slots.take();
    const abort = new AbortController();
    const waiting = slots.take(abort.signal);
    abort.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' });
    await expect(slots.take(abort.signal)).rejects.toMatchObject({ code: 'aborted' });
    release();
    expect(slots.taken.size).toBe(0);
  });

  test('J21 a caller can wait until all are released, including those of callers that still wait', async () => {
    const slots = new Slots({ clock }, 1);
    await slots.free();
    const { release } = await slots.take();
    const later = slots.take();
    let isFree = false;
    const freed = slots.free().then(() => {
      isFree = true;
    });
    release();
    const { release: releaseLater } = await later;
    await settle();
    expect(isFree).toBe(false);
    releaseLater();
    await freed;
  });

  test('J17 while callers wait, as many stalled holders are asked to release theirs, the oldest first', async () => {
    const timers = new ManualTimers();
    const slots = new Slots(timers, 3);
    const asked: string[] = [];
    for (const name of ['busy', 'stalled', 'stalled too']) {
      const slot = await slots.take();
      slot.tryRelease = () => {
        asked.push(name);
        if (name !== 'busy') slot.release();
        return name !== 'busy';
      };
    }
    expect(timers.pending).toBe(0);
    const waiting = slots.take();
    timers.fireAll();
    const slot = await waiting;
    expect(asked).toEqual(['busy', 'stalled']);
    expect(timers.pending).toBe(0);
    slot.release();
    expect(slots.taken.size).toBe(2);
  });
});

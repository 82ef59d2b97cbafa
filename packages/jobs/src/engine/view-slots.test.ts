import { ManualTimers } from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import { settle } from './testing/feed-rig.js';
import { ViewSlots } from './view-slots.js';

describe('slots for views', () => {
  const { clock } = new ManualTimers();

  test('beyond the limit one waits its turn, first come, first served', async () => {
    const slots = new ViewSlots({ clock }, 2);
    const order: string[] = [];
    const [first] = await Promise.all([slots.take(), slots.take()]);
    const later = ['third', 'fourth'].map(async (name) => {
      const slot = await slots.take();
      order.push(name);
      return slot;
    });
    await settle();
    expect([slots.takenCount, order]).toEqual([2, []]);
    first.giveBack();
    await settle();
    expect([slots.takenCount, order]).toEqual([2, ['third']]);
    (await later[0])?.giveBack();
    (await later[1])?.giveBack();
    expect([slots.takenCount, order]).toEqual([1, ['third', 'fourth']]);
    expect(() => first.giveBack()).toThrow('once');
  });

  test('one that gives up leaves the line', async () => {
    const slots = new ViewSlots({ clock }, 1);
    const { giveBack } = await slots.take();
    const abort = new AbortController();
    const waiting = slots.take(abort.signal);
    abort.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' });
    await expect(slots.take(abort.signal)).rejects.toMatchObject({ code: 'aborted' });
    giveBack();
    expect(slots.takenCount).toBe(0);
  });

  test('J21 one can wait until all are given back, also by those who still wait', async () => {
    const slots = new ViewSlots({ clock }, 1);
    await slots.free();
    const { giveBack } = await slots.take();
    const later = slots.take();
    let isFree = false;
    const freed = slots.free().then(() => {
      isFree = true;
    });
    giveBack();
    const { giveBack: giveLater } = await later;
    await settle();
    expect(isFree).toBe(false);
    giveLater();
    await freed;
  });

  test('J17 while somebody waits, those who stand still are asked, the oldest first, as many as wait', async () => {
    const timers = new ManualTimers();
    const slots = new ViewSlots(timers, 3);
    const asked: string[] = [];
    for (const name of ['busy', 'stalled', 'stalled too']) {
      const slot = await slots.take();
      slot.onWanted(() => {
        asked.push(name);
        if (name !== 'busy') slot.giveBack();
        return name !== 'busy';
      });
    }
    expect(timers.pending).toBe(0);
    const waiting = slots.take();
    timers.fireAll();
    const slot = await waiting;
    expect(asked).toEqual(['busy', 'stalled']);
    expect(timers.pending).toBe(0);
    slot.giveBack();
    expect(slots.takenCount).toBe(2);
  });
});

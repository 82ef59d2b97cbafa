import { describe, expect, test } from 'vitest';
import { settle } from './testing/feed-rig.js';
import { ViewSlots } from './view-slots.js';

describe('slots for views', () => {
  test('beyond the limit one waits its turn, first come, first served', async () => {
    const slots = new ViewSlots(2);
    const order: string[] = [];
    const [giveBack] = await Promise.all([slots.take(), slots.take()]);
    const later = ['third', 'fourth'].map(async (name) => {
      const giveLater = await slots.take();
      order.push(name);
      return giveLater;
    });
    await settle();
    expect([slots.takenCount, order]).toEqual([2, []]);
    giveBack();
    await settle();
    expect([slots.takenCount, order]).toEqual([2, ['third']]);
    (await later[0])?.();
    (await later[1])?.();
    expect([slots.takenCount, order]).toEqual([1, ['third', 'fourth']]);
    expect(giveBack).toThrow('once');
  });

  test('one that gives up leaves the line', async () => {
    const slots = new ViewSlots(1);
    const giveBack = await slots.take();
    const abort = new AbortController();
    const waiting = slots.take(abort.signal);
    abort.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' });
    await expect(slots.take(abort.signal)).rejects.toMatchObject({ code: 'aborted' });
    giveBack();
    expect(slots.takenCount).toBe(0);
  });

  test('J21 one can wait until all are given back, also by those who still wait', async () => {
    const slots = new ViewSlots(1);
    await slots.free();
    const giveBack = await slots.take();
    const later = slots.take();
    let isFree = false;
    const freed = slots.free().then(() => {
      isFree = true;
    });
    giveBack();
    const giveLater = await later;
    await settle();
    expect(isFree).toBe(false);
    giveLater();
    await freed;
  });
});

import { describe, expect, test } from 'vitest';
import { jobsLimits } from '../limits.js';
import { KeyOrder } from './key-order.js';

describe('KeyOrder', () => {
  test('J20 refuses one more than fits, and takes it when there is room again', () => {
    const order = new KeyOrder();
    const { value } = jobsLimits.writeQueueMax;
    const places = Array.from({ length: value }, (_, index) => order.enter(`key ${index % 7}`, 1));
    const full = { code: 'overloaded', retryable: true, details: { limit: 'writeQueueMax' } };
    expect(() => order.enter('other', 1)).toThrow(expect.objectContaining(full));
    places[0]?.leave();
    expect(() => order.enter('other', 1)).not.toThrow();
  });

  test('J20 refuses more bytes than fit', () => {
    const order = new KeyOrder();
    const { value } = jobsLimits.writeQueueBytesMax;
    const place = order.enter('a', value);
    const full = { code: 'overloaded', details: { limit: 'writeQueueBytesMax' } };
    expect(() => order.enter('a', 1)).toThrow(expect.objectContaining(full));
    place.leave();
    expect(() => order.enter('a', value)).not.toThrow();
  });

  test('whoever gives up does not let the next overtake those before', async () => {
    const order = new KeyOrder();
    const first = order.enter('a', 1);
    const second = order.enter('a', 1);
    const third = order.enter('a', 1);
    await first.turn(undefined);
    second.leave();
    let hasTurn = false;
    const turn = third.turn(undefined).then(() => {
      hasTurn = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(hasTurn).toBe(false);
    first.leave();
    await turn;
    third.leave();
    await order.drained();
  });
});

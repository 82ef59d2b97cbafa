import { expect, test } from 'vitest';
import { CommonRoom } from './common-room.js';

test('what one takes the others cannot have, until it is given back', () => {
  const room = new CommonRoom(10);
  expect([room.take(6), room.take(4), room.take(1)]).toEqual([true, true, false]);
  expect(room.used).toBe(10);
  room.give(4);
  expect([room.take(5), room.take(4)]).toEqual([false, true]);
});

test('S10 nobody gives back what was not taken', () => {
  const room = new CommonRoom(10);
  room.take(3);
  expect(() => room.give(4)).toThrow('S10');
});

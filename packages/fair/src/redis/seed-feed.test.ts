import type { Clock } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { fairLimits } from '../limits.js';
import { type Delivery, SeedFeed } from './seed-feed.js';

/** Deliveries and requests of the feed, in order; the test runs timers and turns. */
function createRig(isOrdered = true) {
  const log: string[] = [];
  const timers = new Set<() => void>();
  const turns: (() => void)[] = [];
  const clock: Clock = {
    nowMs: () => 0,
    monotonicMs: () => 0,
    sleep: () => Promise.resolve(),
    setTimer(ms, callback) {
      expect(ms).toBe(fairLimits.redisGapWaitMs.value);
      timers.add(callback);
      return { cancel: () => timers.delete(callback) };
    },
    defer(callback) {
      turns.push(callback);
      return { cancel() {} };
    },
  };
  const feed = new SeedFeed(
    {
      clock,
      onGap: (kind) => log.push(`gap ${kind}`),
      onNewIncarnation: () => log.push('new incarnation'),
    },
    isOrdered,
  );
  const delivery = (n: number, name: string, isAnswer: boolean, incarnation = 'a'): Delivery => ({
    n,
    incarnation,
    isAnswer,
    deliver: (isIncluded) => log.push(isIncluded ? `${name}${n} included` : `${name}${n}`),
  });
  return {
    log,
    publish: (n: number, incarnation?: string) =>
      feed.offer(delivery(n, 'published', false, incarnation)),
    answer: (n: number, incarnation?: string) =>
      feed.offer(delivery(n, 'answer', true, incarnation)),
    beginReading: () => feed.beginReading(),
    endReading: () => feed.endReading(),
    /** Of a reading that has begun. */
    arrives: (n: number, incarnation?: string) =>
      feed.snapshot(delivery(n, 'all', false, incarnation)),
    snapshot(n: number) {
      feed.beginReading();
      feed.snapshot(delivery(n, 'all', false));
    },
    setOrdered: (ordered: boolean) => feed.setOrdered(ordered),
    fireTimers() {
      const due = [...timers];
      timers.clear();
      for (const callback of due) callback();
    },
    turn() {
      for (const callback of turns.splice(0)) callback();
    },
  };
}

test('changes that arrive in order are delivered immediately', () => {
  const rig = createRig();
  for (const n of [1, 2, 3]) rig.publish(n);
  expect(rig.log).toEqual(['published1', 'published2', 'published3']);
});

test('F60 an answer that overtakes published changes waits for them', () => {
  const rig = createRig();
  rig.publish(1);
  rig.answer(3);
  expect(rig.log).toEqual(['published1']);
  rig.publish(2);
  expect(rig.log).toEqual(['published1', 'published2', 'answer3']);
});

test('F60 changes after an answer wait until its owner has run', () => {
  const rig = createRig();
  rig.answer(1);
  rig.publish(2);
  expect(rig.log).toEqual(['answer1']);
  rig.turn();
  expect(rig.log).toEqual(['answer1', 'published2']);
});

test('F60 a change that never arrives is repaired by a read, which includes it', () => {
  const rig = createRig();
  rig.publish(1);
  rig.answer(3);
  rig.publish(5);
  rig.fireTimers();
  expect(rig.log).toEqual(['published1', 'gap missed']);
  rig.snapshot(4);
  rig.turn();
  expect(rig.log).toEqual(['published1', 'gap missed', 'all4', 'answer3 included', 'published5']);
  rig.publish(4);
  rig.fireTimers();
  expect(rig.log).toHaveLength(5);
});

test('F60 published changes that overtake a read are delivered after it', () => {
  const rig = createRig();
  rig.publish(1);
  rig.beginReading();
  rig.publish(2);
  rig.publish(3);
  expect(rig.log).toEqual(['published1']);
  rig.arrives(2);
  expect(rig.log).toEqual(['published1', 'all2', 'published3']);
});

test('F60 so are answers while there are no changes', () => {
  const rig = createRig(false);
  rig.beginReading();
  rig.answer(3);
  rig.setOrdered(false);
  expect(rig.log).toEqual([]);
  rig.arrives(2);
  rig.turn();
  expect(rig.log).toEqual(['all2', 'answer3']);
});

test('F60 a reading of keys that were lost while it was made is not delivered', () => {
  const rig = createRig();
  rig.publish(1);
  rig.beginReading();
  rig.publish(1, 'b');
  rig.arrives(1);
  expect(rig.log).toEqual(['published1', 'new incarnation']);
  rig.beginReading();
  rig.arrives(1, 'b');
  expect(rig.log).toEqual(['published1', 'new incarnation', 'all1']);
});

test('F60 a failed read releases what it held back, and is repeated', () => {
  const rig = createRig();
  rig.publish(1);
  rig.beginReading();
  rig.publish(2);
  rig.fireTimers();
  expect(rig.log).toEqual(['published1']);
  rig.endReading();
  expect(rig.log).toEqual(['published1', 'published2']);
  rig.fireTimers();
  expect(rig.log).toEqual(['published1', 'published2', 'gap first']);
  rig.snapshot(2);
  rig.fireTimers();
  expect(rig.log.slice(3)).toEqual(['all2']);
});

test('F60 published changes above the limit are dropped, and read even if none follow', () => {
  const rig = createRig();
  rig.publish(1);
  rig.beginReading();
  const last = fairLimits.redisHeldChangesMax.value + 2;
  for (let n = 2; n <= last; n += 1) rig.publish(n);
  rig.arrives(1);
  expect(rig.log).toEqual(['published1', 'all1']);
  rig.fireTimers();
  expect(rig.log.slice(2)).toEqual(['gap missed']);
});

test('the first sight of a seed with a past is a reading', () => {
  const rig = createRig();
  rig.publish(7);
  expect(rig.log).toEqual(['gap first']);
  rig.snapshot(7);
  rig.publish(8);
  expect(rig.log).toEqual(['gap first', 'all7', 'published8']);
});

test('without published changes nothing is held back, and when they resume the seed is read', () => {
  const rig = createRig(false);
  rig.answer(4);
  rig.turn();
  rig.answer(9);
  rig.turn();
  rig.setOrdered(true);
  expect(rig.log).toEqual(['answer4', 'answer9', 'gap first']);
  rig.snapshot(11);
  rig.publish(12);
  expect(rig.log.slice(3)).toEqual(['all11', 'published12']);
  rig.publish(14);
  rig.setOrdered(false);
  expect(rig.log.slice(5)).toEqual(['published14']);
});

test('F14 keys that were lost begin a new count, and nothing of it is delivered before it is read', () => {
  const rig = createRig();
  rig.publish(1);
  rig.publish(2);
  rig.answer(1, 'b');
  rig.publish(2, 'b');
  expect(rig.log).toEqual(['published1', 'published2', 'new incarnation']);
  rig.beginReading();
  rig.arrives(1, 'b');
  rig.turn();
  expect(rig.log.slice(3)).toEqual(['all1', 'answer1 included', 'published2']);
});

test('F14 nor is the reading that has met the loss, or an answer while there are no changes', () => {
  const rig = createRig(false);
  rig.answer(1);
  rig.turn();
  rig.beginReading();
  rig.arrives(4, 'b');
  rig.answer(5, 'b');
  expect(rig.log).toEqual(['answer1', 'new incarnation']);
  rig.beginReading();
  rig.arrives(5, 'b');
  rig.turn();
  expect(rig.log.slice(2)).toEqual(['all5', 'answer5 included']);
});

test('a new incarnation without further changes is read after a while', () => {
  const rig = createRig(false);
  rig.answer(1);
  rig.turn();
  rig.answer(1, 'b');
  rig.fireTimers();
  expect(rig.log).toEqual(['answer1', 'new incarnation', 'gap missed']);
  rig.beginReading();
  rig.arrives(1, 'b');
  rig.turn();
  expect(rig.log.slice(3)).toEqual(['all1', 'answer1 included']);
});

import { expect, test } from 'vitest';
import { PullSchedule } from './pull-schedule.js';

const create = () => new PullSchedule({ intervalMs: 10_000 }, 0, 0.5);

test('every connect starts a pull, and a trigger during one is remembered once', () => {
  const schedule = create();
  schedule.peerUp(2, 'start');
  expect(schedule.next(0, 0)).toEqual([2, 'start']);
  expect(schedule.next(0, 0)).toBeUndefined();
  schedule.request(2, 'overflow');
  schedule.request(2, 'gap');
  schedule.ended(2, 'start', 'done', 5);
  expect(schedule.next(5, 0)).toEqual([2, 'overflow']);
  expect(schedule.next(5, 0)).toBeUndefined();
});

test('without a trigger the peer whose last pull is oldest is next, every 10 s give or take a fifth', () => {
  const schedule = create();
  for (const [peer, nowMs] of [
    [2, 0],
    [3, 1],
  ] as const) {
    schedule.peerUp(peer, 'connect');
    expect(schedule.next(nowMs, 0)).toEqual([peer, 'connect']);
    schedule.ended(peer, 'connect', 'done', nowMs);
  }
  expect(schedule.dueMs()).toBe(10_000);
  expect(schedule.next(9_999, 0)).toBeUndefined();
  expect(schedule.next(10_000, 1)).toEqual([2, 'interval']);
  schedule.ended(2, 'interval', 'done', 10_000);
  expect(schedule.dueMs()).toBe(22_000);
  expect(schedule.next(22_000, 0)).toEqual([3, 'interval']);
  expect(schedule.dueMs()).toBe(30_000);
});

test('a peer that was busy is asked again after a second, and others first', () => {
  const schedule = create();
  schedule.peerUp(2, 'connect');
  schedule.peerUp(3, 'connect');
  expect(schedule.next(0, 0)).toEqual([2, 'connect']);
  schedule.ended(2, 'connect', 'busy', 0);
  expect(schedule.next(0, 0)).toEqual([3, 'connect']);
  schedule.ended(3, 'connect', 'done', 0);
  expect(schedule.next(999, 0)).toBeUndefined();
  expect(schedule.dueMs()).toBe(1_000);
  expect(schedule.next(1_000, 0)).toEqual([2, 'connect']);
});

test('after a failure here no peer is asked for 1 to 8 s, until a pull succeeds', () => {
  const schedule = create();
  schedule.peerUp(2, 'connect');
  schedule.peerUp(3, 'connect');
  let nowMs = 0;
  for (const waitMs of [1_000, 2_000, 4_000, 8_000, 8_000]) {
    const [peer = 0] = schedule.next(nowMs, 0) ?? [];
    schedule.ended(peer, 'connect', 'failed', nowMs);
    expect(schedule.next(nowMs + waitMs - 1, 0)).toBeUndefined();
    expect(schedule.dueMs()).toBe(nowMs + waitMs);
    nowMs += waitMs;
  }
  expect(schedule.next(nowMs, 0)).toEqual([3, 'connect']);
  schedule.ended(3, 'connect', 'done', nowMs);
  expect(schedule.next(nowMs, 0)).toEqual([2, 'connect']);
  schedule.ended(2, 'connect', 'failed', nowMs);
  expect(schedule.dueMs()).toBe(nowMs + 1_000);
});

test('nothing is pulled from a peer that is gone, nor from one that has diverged', () => {
  const schedule = create();
  schedule.peerUp(2, 'connect');
  schedule.peerDown(2);
  schedule.request(2, 'gap');
  schedule.requestAny('read');
  expect(schedule.next(0, 0)).toBeUndefined();
  schedule.peerUp(3, 'connect');
  expect(schedule.next(0, 0)).toEqual([3, 'connect']);
  schedule.ended(3, 'connect', 'diverged', 0);
  schedule.peerDown(3);
  schedule.peerUp(3, 'connect');
  schedule.request(3, 'overflow');
  expect(schedule.next(20_000, 0)).toBeUndefined();
  expect(schedule.divergedPeers).toEqual([3]);
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EventQueue, type SimEvent } from './event-queue.js';

const timeAndTie = fc.record({ timeMs: fc.nat(20), tie: fc.nat(3), isCancelled: fc.boolean() });

test('events leave by time, tie and age, and cancelled ones never do', () => {
  fc.assert(
    fc.property(fc.array(timeAndTie, { maxLength: 300 }), (drafts) => {
      const queue = new EventQueue();
      const events = drafts.map(({ timeMs, tie }, sequence) => eventAt(timeMs, tie, sequence));
      for (const event of events) queue.push(event);
      for (const [index, { isCancelled }] of drafts.entries()) {
        const event = events[index];
        if (isCancelled && event !== undefined) queue.cancel(event);
      }
      const expected = events
        .filter((_, index) => !drafts[index]?.isCancelled)
        .sort((a, b) => a.timeMs - b.timeMs || a.tie - b.tie || a.sequence - b.sequence);
      expect(drain(queue)).toEqual(expected);
    }),
  );
});

test('a cancel after the event has left does nothing', () => {
  const queue = new EventQueue();
  const [first, second] = [eventAt(1, 0, 1), eventAt(2, 0, 2)];
  queue.push(first);
  queue.push(second);
  queue.cancel(queue.pop() ?? first);
  expect(drain(queue)).toEqual([second]);
});

function eventAt(timeMs: number, tie: number, sequence: number): SimEvent {
  const rest = { kind: 'test', subject: '', owner: undefined, run: () => {}, isQueued: false };
  return { timeMs, tie, sequence, ...rest };
}

function drain(queue: EventQueue): SimEvent[] {
  const events: SimEvent[] = [];
  for (let event = queue.pop(); event !== undefined; event = queue.pop()) events.push(event);
  return events;
}

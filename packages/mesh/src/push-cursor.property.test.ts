// One peer and its cursor, with everything that can happen between them, and the ring compared with a plain list.
import { actorId, assert, dot, randomBelow } from '@syncline/kernel';
import { createSeededRandom, type SeededRandom } from '@syncline/kernel/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { meshLimits } from './limits.js';
import { readOperationHeads } from './operation-head.js';
import { OperationRing } from './operation-ring.js';
import { type PushAction, PushCursor, type PushMode } from './push-cursor.js';
import { encodeOperation } from './testing/encode-operation.js';

const actor = actorId(1, 0);
const options = { maxRetries: 5, retryBackoffMs: 100, ackTimeoutMs: 500 };

/** Operations with counters from `base` on: the message and its last counter. */
function messageFrom(base: number, counts: readonly number[], bodyBytes = 3): [Uint8Array, number] {
  const parts: Uint8Array[] = [];
  let next = base;
  for (const count of counts) {
    parts.push(encodeOperation({ dot: dot(actor, next), count, body: new Uint8Array(bodyBytes) }));
    next += count;
  }
  return [Buffer.concat(parts), next - 1];
}

function push(ring: OperationRing, counts: readonly number[], nowMs = 0, bodyBytes = 3): void {
  const base = ring.last + 1;
  const [encoded, last] = messageFrom(base, counts, bodyBytes);
  ring.push(encoded, base, last, nowMs);
}

/** The counters that an action sends. */
function countersOf(
  action: PushAction | undefined,
): readonly [number, number] | 'evicted' | undefined {
  if (action?.kind !== 'operations') return action?.kind;
  const heads = action.slice.chunks.flatMap((chunk) => [...readOperationHeads(chunk)]);
  for (const [index, head] of heads.entries()) {
    assert(
      index === 0 || head.base === (heads[index - 1]?.last ?? 0) + 1,
      'M11: no gap in a frame',
    );
  }
  assert(heads.at(-1)?.last === action.slice.last, 'M11: the slice ends where it says');
  return [heads[0]?.base ?? 0, action.slice.last];
}

test('M10 the ring keeps a run of counters without a gap, within both limits', () => {
  const steps = fc.array(
    fc.oneof(
      fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 0, max: 200 }),
    ),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(
      steps,
      fc.integer({ min: 1, max: 12 }),
      fc.constantFrom(100, 300, 100_000),
      (list, batchesMax, bytesMax) => {
        const ring = new OperationRing({ batchesMax, bytesMax });
        // A plain list of chunks.
        let plain: { base: number; last: number; operations: number; bytes: number }[] = [];
        const sum = (field: 'operations' | 'bytes') =>
          plain.reduce((total, each) => total + each[field], 0);
        for (const step of list) {
          if (typeof step === 'number') {
            ring.free(step);
            while ((plain[0]?.last ?? Number.POSITIVE_INFINITY) <= step) plain = plain.slice(1);
          } else {
            const base = ring.last + 1;
            const [encoded, last] = messageFrom(base, step);
            ring.push(encoded, base, last, base);
            plain.push({ base, last, operations: step.length, bytes: encoded.length });
            while (plain.length > batchesMax || sum('bytes') > bytesMax) plain = plain.slice(1);
          }
          expect([ring.operations, ring.bytes]).toEqual([sum('operations'), sum('bytes')]);
          expect(ring.first).toBe(plain[0]?.base ?? ring.last + 1);
          for (const { base, last } of plain) {
            expect(ring.has(base) && ring.has(last)).toBe(true);
            expect(ring.publishedMs(last)).toBe(base);
            expect(
              countersOf({ kind: 'operations', slice: ring.read(last), isRetry: false }),
            ).toEqual([base, ring.last]);
            const after = plain.filter((each) => each.last > last);
            expect(ring.operationsAfter(last)).toBe(
              after.reduce((total, each) => total + each.operations, 0),
            );
          }
          expect(ring.has(ring.last + 1) || ring.has(ring.first - 1)).toBe(false);
        }
      },
    ),
    { numRuns: 100 },
  );
});

test('a large message is cut into frames between operations', () => {
  const ring = new OperationRing({ batchesMax: 1_000, bytesMax: 100_000_000 });
  ring.reset(6);
  push(
    ring,
    Array.from({ length: 40 }, () => 2),
    0,
    30_000,
  );
  expect([ring.first, ring.last, ring.operations]).toEqual([7, 86, 40]);
  let next = 7;
  while (next <= 86) {
    const slice = ring.read(next);
    const bytes = slice.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    expect(bytes).toBeLessThanOrEqual(meshLimits.pushFrameBytesMax.value);
    expect(countersOf({ kind: 'operations', slice, isRetry: false })?.[0]).toBe(next);
    next = slice.last + 1;
  }
  push(ring, [1], 0, 1_000_000);
  expect(ring.read(87).chunks).toHaveLength(1);
});

function newCursor(batchesMax = 1_000): { ring: OperationRing; cursor: PushCursor } {
  const ring = new OperationRing({ batchesMax, bytesMax: 1_000_000 });
  return { ring, cursor: new PushCursor({ ring, random: createSeededRandom(1) }, options) };
}

test('M11 pushes go out in order; after a Nack they start again where the peer wants them', () => {
  const { ring, cursor } = newCursor();
  push(ring, [1, 1, 1]);
  expect(cursor.next(0)).toBeUndefined(); // not connected
  cursor.up(1);
  expect(countersOf(cursor.next(0))).toEqual([1, 3]); // the chunk that has counter 2
  expect(cursor.next(0)).toBeUndefined();
  push(ring, [2]);
  expect(countersOf(cursor.next(1))).toEqual([4, 5]);
  cursor.onAck(3, 3, 2);
  cursor.onNack('gap', 4, 3);
  expect(countersOf(cursor.next(3))).toEqual([4, 5]);
  cursor.onNack('gap', 99, 4); // nothing is there
  expect(cursor.next(4)).toBeUndefined();
});

test('M12 after five resends with growing delays the peer has to pull, and gets nothing until it answers', () => {
  const { ring, cursor } = newCursor();
  cursor.up(0);
  push(ring, [1, 1]);
  expect(countersOf(cursor.next(0))).toEqual([1, 2]);
  let nowMs = 0;
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const waitMs = cursor.dueMs - nowMs;
    expect(waitMs).toBeGreaterThanOrEqual(500 + 50 * 2 ** attempt);
    expect(waitMs).toBeLessThanOrEqual(500 + 100 * 2 ** attempt);
    expect(cursor.onTimer(cursor.dueMs - 1, 0)).toBeUndefined();
    nowMs = cursor.dueMs;
    const action = cursor.onTimer(nowMs, 0);
    expect(countersOf(action)).toEqual([1, 2]);
    expect(action).toMatchObject({ isRetry: true });
  }
  nowMs = cursor.dueMs;
  expect(countersOf(cursor.onTimer(nowMs, 0))).toBe('evicted');
  expect(cursor.mode).toBe('behind');
  push(ring, [1]);
  expect(cursor.next(nowMs)).toBeUndefined();
  expect(countersOf(cursor.onTimer(cursor.dueMs, 0))).toBe('evicted'); // a reminder
  expect(cursor.onAck(1, 1, nowMs)).toBe(true);
  expect(cursor.mode).toBe('live');
  expect(countersOf(cursor.next(nowMs))).toEqual([1, 3]);
});

test('M15 a peer that does not apply is sent a limited number of operations, and more once it does', () => {
  const { ring, cursor } = newCursor();
  const aheadMax = meshLimits.pushAheadOperations.value;
  for (let n = 0; n < 20; n += 1) push(ring, Array<number>(1_000).fill(1));
  cursor.up(0);
  while (cursor.next(0) !== undefined);
  const { sent } = cursor;
  expect(sent).toBeGreaterThanOrEqual(aheadMax);
  expect(sent).toBeLessThan(ring.last); // within a frame of the limit
  cursor.onAck(sent, 0, 1); // held, not applied
  expect(cursor.next(1)).toBeUndefined();
  cursor.onAck(sent, sent - aheadMax + 1_000, 2);
  expect(countersOf(cursor.next(2))).toMatchObject([sent + 1, expect.any(Number)]);
  while (cursor.next(3, true) !== undefined); // a last push sends everything
  expect(cursor.sent).toBe(ring.last);
});

test('M15 bytes are limited, too, and an operation above the limit goes alone', () => {
  const bytesMax = 10 * meshLimits.pushAheadBytes.value;
  const ring = new OperationRing({ batchesMax: 10, bytesMax });
  const cursor = new PushCursor({ ring, random: createSeededRandom(1) }, options);
  for (let n = 0; n < 5; n += 1) push(ring, [1], 0, meshLimits.pushAheadBytes.value / 4);
  cursor.up(0);
  while (cursor.next(0) !== undefined);
  expect(cursor.sent).toBe(4);
});

test('a resend waits while the connection still has unsent bytes', () => {
  const { ring, cursor } = newCursor();
  cursor.up(0);
  push(ring, [1]);
  cursor.next(0);
  const dueMs = cursor.dueMs;
  expect(cursor.onTimer(dueMs, 1)).toBeUndefined();
  expect(cursor.dueMs).toBeGreaterThan(dueMs);
  expect(cursor.mode).toBe('live');
});

test('a peer that has dropped operations gets one frame at a time, until it acknowledges', () => {
  const { ring, cursor } = newCursor();
  cursor.up(0);
  push(ring, [1]);
  push(ring, [1]);
  expect(countersOf(cursor.next(0))).toEqual([1, 2]);
  cursor.onNack('overflow', 2, 1);
  expect(cursor.mode).toBe('overflowed');
  push(ring, [1]);
  expect(cursor.next(2)).toBeUndefined();
  expect(countersOf(cursor.onTimer(cursor.dueMs, 0))).toEqual([1, 3]); // from what it has acknowledged
  cursor.onAck(3, 0, 1_000);
  expect(cursor.mode).toBe('live');
  expect(cursor.dueMs).toBe(Number.POSITIVE_INFINITY);
});

test('M13 a peer whose next operation has left the ring has to pull, and becomes live once it reaches the ring', () => {
  const { ring, cursor } = newCursor(3);
  for (let each = 0; each < 5; each += 1) push(ring, [1]);
  cursor.up(1);
  expect(countersOf(cursor.next(0))).toBe('evicted');
  expect(cursor.next(0)).toBeUndefined();
  cursor.onAck(0, 0, 1);
  expect(cursor.mode).toBe('behind');
  cursor.onAck(2, 2, 1);
  expect(cursor.mode).toBe('live');
  expect(countersOf(cursor.next(0))).toEqual([3, 5]);
});

/** What happens to a peer that has acknowledged 2 of 4 operations, and what its mode is then. */
const events = {
  up: ({ cursor }) => cursor.up(2),
  down: ({ cursor }) => cursor.down(),
  'new ack': ({ cursor }) => cursor.onAck(3, 3, 0),
  'old ack': ({ cursor }) => cursor.onAck(1, 1, 0),
  'nack gap': ({ cursor }) => cursor.onNack('gap', 3, 0),
  'nack overflow': ({ cursor }) => cursor.onNack('overflow', 3, 0),
  'nack beyond the end': ({ cursor }) => cursor.onNack('gap', 9, 0),
  'nack before the ring': ({ cursor }) => cursor.onNack('gap', 1, 0),
  'retries exhausted': ({ cursor }) => {
    for (let each = 0; each < 7; each += 1) cursor.onTimer(cursor.dueMs, 0);
  },
  'out of the ring': ({ ring, cursor }) => {
    push(ring, [1, 1, 1, 1]);
    ring.free(8);
    push(ring, [1]);
    cursor.next(0);
  },
} as const satisfies Record<string, (subject: { ring: OperationRing; cursor: PushCursor }) => void>;

const modes: Record<PushMode, Record<keyof typeof events, PushMode>> = {
  down: {
    up: 'live',
    down: 'down',
    'new ack': 'down',
    'old ack': 'down',
    'nack gap': 'down',
    'nack overflow': 'down',
    'nack beyond the end': 'down',
    'nack before the ring': 'down',
    'retries exhausted': 'down',
    'out of the ring': 'down',
  },
  live: {
    up: 'live',
    down: 'down',
    'new ack': 'live',
    'old ack': 'live',
    'nack gap': 'live',
    'nack overflow': 'overflowed',
    'nack beyond the end': 'live',
    'nack before the ring': 'behind',
    'retries exhausted': 'behind',
    'out of the ring': 'behind',
  },
  overflowed: {
    up: 'live',
    down: 'down',
    'new ack': 'live',
    'old ack': 'overflowed',
    'nack gap': 'live',
    'nack overflow': 'overflowed',
    'nack beyond the end': 'overflowed',
    'nack before the ring': 'behind',
    'retries exhausted': 'behind',
    'out of the ring': 'overflowed', // noticed by the next retry
  },
  behind: {
    up: 'live',
    down: 'down',
    'new ack': 'live',
    'old ack': 'behind',
    'nack gap': 'behind',
    'nack overflow': 'behind',
    'nack beyond the end': 'behind',
    'nack before the ring': 'behind',
    'retries exhausted': 'behind',
    'out of the ring': 'behind',
  },
};

function cursorIn(mode: PushMode): { ring: OperationRing; cursor: PushCursor } {
  const subject = newCursor();
  const { ring, cursor } = subject;
  for (let each = 0; each < 4; each += 1) push(ring, [1]);
  ring.free(1);
  if (mode !== 'down') cursor.up(2);
  if (mode === 'live' || mode === 'overflowed') cursor.next(0);
  if (mode === 'overflowed') cursor.onNack('overflow', 3, 0);
  if (mode === 'behind') cursor.onNack('gap', 1, 0);
  expect(cursor.mode).toBe(mode);
  return subject;
}

for (const mode of Object.keys(modes) as PushMode[]) {
  for (const event of Object.keys(events) as (keyof typeof events)[]) {
    test(`M12 M13 ${mode}: ${event} leads to ${modes[mode][event]}`, () => {
      const subject = cursorIn(mode);
      events[event](subject);
      expect(subject.cursor.mode).toBe(modes[mode][event]);
    });
  }
}

/** A peer that applies in order, forgets what it has not committed, and answers when it likes. */
class ModelPeer {
  committed = 0;
  applied = 0;

  take(action: PushAction): void {
    if (action.kind !== 'operations') return;
    for (const chunk of action.slice.chunks) {
      for (const { base, last } of readOperationHeads(chunk)) {
        if (base === this.applied + 1) this.applied = last;
      }
    }
  }
}

function runSchedule(random: SeededRandom): void {
  const ring = new OperationRing({ batchesMax: 1 + randomBelow(random, 20), bytesMax: 2_000 });
  const cursor = new PushCursor({ ring, random }, options);
  const peer = new ModelPeer();
  let nowMs = 0;
  let highest = 0; // sent over this connection, or known to have arrived
  const note = (action: PushAction) => {
    const counters = countersOf(action);
    if (counters === undefined || counters === 'evicted') return;
    highest = Math.max(highest, cursor.received);
    assert(counters[0] <= highest + 1, 'M11: no counter is skipped');
    highest = Math.max(highest, counters[1]);
  };
  const pump = () => {
    for (let action = cursor.next(nowMs); action !== undefined; action = cursor.next(nowMs)) {
      note(action);
      if (random.float() < 0.8) peer.take(action);
      if (action.kind === 'evicted' && random.float() < 0.5) pull();
    }
  };
  const pull = () => {
    peer.applied = Math.max(peer.applied, ring.last);
    peer.committed = peer.applied;
  };
  const ack = () => {
    cursor.onAck(peer.committed, peer.committed, nowMs);
    ring.free(cursor.applied);
    pump();
  };
  const steps: (() => void)[] = [
    () => push(ring, [1 + randomBelow(random, 3)], nowMs),
    () => {
      peer.committed = peer.applied;
    },
    () => {
      peer.applied = peer.committed; // undone
    },
    ack,
    () => {
      cursor.down();
      peer.applied = peer.committed;
      highest = peer.committed;
      cursor.up(peer.committed);
    },
    () => cursor.onNack(random.float() < 0.5 ? 'gap' : 'overflow', peer.applied + 1, nowMs),
    () => {
      nowMs = Math.max(nowMs, Math.min(cursor.dueMs, nowMs + 10_000));
      const action = cursor.onTimer(nowMs, 0);
      if (action === undefined) return;
      note(action);
      peer.take(action);
    },
  ];
  for (let step = 0; step < 200; step += 1) {
    steps[randomBelow(random, steps.length)]?.();
    pump();
    assert(cursor.applied <= peer.committed, 'M13: applied is committed at the peer');
  }
  // No faults from now on.
  if (cursor.mode === 'down') cursor.up(peer.committed);
  for (let step = 0; peer.committed < ring.last; step += 1) {
    assert(step < 100, `M11: the peer gets all; it is ${cursor.mode}`);
    nowMs += 10_000;
    const action = cursor.onTimer(nowMs, 0);
    for (let each = action; each !== undefined; each = cursor.next(nowMs)) {
      peer.take(each);
      if (each.kind === 'evicted') pull();
    }
    if (peer.applied < cursor.received) cursor.onNack('gap', peer.applied + 1, nowMs);
    peer.committed = peer.applied;
    cursor.onAck(peer.committed, peer.committed, nowMs);
  }
}

test('M11 M13 whatever is lost, undone or cut off, the peer eventually gets everything', () => {
  fc.assert(
    fc.property(fc.nat(), (seed) => runSchedule(createSeededRandom(seed))),
    { numRuns: 200 },
  );
});

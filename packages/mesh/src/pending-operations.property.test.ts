// Random histories of three writers, delivered in any order, with duplicates, small limits, undo and repairs, and
// compared with a plain list that is searched from the start each time.
import { type ActorId, actorId, assert, dot, randomBelow, VersionVector } from '@syncline/kernel';
import { createSeededRandom, type SeededRandom } from '@syncline/kernel/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type OperationHead, readOperationHeads } from './operation-head.js';
import { PendingOperations, readiness } from './pending-operations.js';
import { encodeOperation } from './testing/encode-operation.js';

const actors = [actorId(1, 0), actorId(2, 3), actorId(3, 0)] as const;

/** A causal history: each operation depends on what its writer had seen of others at the time. */
function history(random: SeededRandom, length: number): OperationHead[] {
  const views = new Map(actors.map((actor) => [actor, new VersionVector()]));
  const named = new Map(actors.map((actor) => [actor, new VersionVector()]));
  const made: OperationHead[] = [];
  while (made.length < length) {
    const actor = actors[randomBelow(random, actors.length)] ?? actors[0];
    const view = views.get(actor) ?? new VersionVector();
    // It reads the next operation of the history that it has not seen and can apply, or makes one of its own.
    const next = made.find((each) => readiness(each, (of) => view.counterOf(of)) === 'ready');
    if (next !== undefined && random.float() < 0.6) {
      view.advance(next.actor, next.last);
      continue;
    }
    const base = view.counterOf(actor) + 1;
    const count = 1 + randomBelow(random, 3);
    const before = named.get(actor) ?? new VersionVector();
    const changed = view
      .entries()
      .filter((entry) => entry.actor !== actor && entry.counter > before.counterOf(entry.actor));
    named.set(actor, view.copy());
    const dependencies = VersionVector.of(...changed);
    const encoded = encodeOperation({ dot: dot(actor, base), count, dependencies });
    made.push(...readOperationHeads(encoded));
    view.advance(actor, base + count - 1);
  }
  return made;
}

function isSame(a: OperationHead, b: OperationHead): boolean {
  return a.actor === b.actor && a.base === b.base;
}

/** The same without any index: a list, searched from its start. */
class NaivePending {
  held: OperationHead[] = [];

  hold(operation: OperationHead, operationsMax: number): 'held' | 'duplicate' | 'full' {
    if (this.held.some((each) => isSame(each, operation))) return 'duplicate';
    if (this.held.length >= operationsMax) return 'full';
    this.held.push(operation);
    return 'held';
  }

  ready(applied: (actor: ActorId) => number): readonly OperationHead[] {
    this.held = this.held.filter((each) => readiness(each, applied) !== 'duplicate');
    return this.held.filter((each) => readiness(each, applied) === 'ready');
  }

  heldThrough(actor: ActorId, counter: number): number {
    let through = counter;
    for (;;) {
      const next = this.held.find(
        (each) => each.actor === actor && each.base <= through + 1 && each.last > through,
      );
      if (next === undefined) return through;
      through = next.last;
    }
  }
}

const inputs = fc.record({
  seed: fc.nat(),
  length: fc.integer({ min: 1, max: 40 }),
  operationsMax: fc.constantFrom(1, 2, 4, 8, 100),
});

interface Run {
  readonly made: readonly OperationHead[];
  /** In the order in which they were applied, those that were undone taken out again. */
  readonly delivered: readonly OperationHead[];
}

/** Offers everything in random order, often more than once, until all is applied. */
function run({
  seed,
  length,
  operationsMax,
}: {
  seed: number;
  length: number;
  operationsMax: number;
}): Run {
  const random = createSeededRandom(seed);
  const made = history(random, length);
  const pending = new PendingOperations({ operationsMax, bytesMax: 1_000_000 });
  const naive = new NaivePending();
  const version = new VersionVector();
  let undoable = new VersionVector();
  let memory = version.copy();
  const applied = (actor: ActorId) => memory.counterOf(actor);
  const delivered: OperationHead[] = [];
  const apply = (operation: OperationHead) => {
    assert(readiness(operation, applied) === 'ready', 'M20: it is ready');
    memory.advance(operation.actor, operation.last);
    delivered.push(operation);
  };
  const drain = () => {
    for (
      let next = pending.nextReady(applied);
      next !== undefined;
      next = pending.nextReady(applied)
    ) {
      assert(
        naive.ready(applied).some((each) => isSame(each, next)),
        'M20: the model agrees',
      );
      apply(next);
      pending.drop(next.actor);
    }
    assert(naive.ready(applied).length === 0, 'M20: nothing that is ready is left');
    assert(pending.operationsCount === naive.held.length, 'M22: the model holds as many');
  };
  for (let step = 0; !made.every(({ actor, last }) => applied(actor) >= last); step += 1) {
    assert(step < 100_000, 'all is delivered in the end');
    const choice = random.float();
    if (choice < 0.03) {
      memory = undoable.copy(); // a full disk
      delivered.splice(
        0,
        delivered.length,
        ...delivered.filter(({ actor, last }) => last <= applied(actor)),
      );
    } else if (choice < 0.1) {
      undoable = memory.copy(); // a commit
    } else if (choice < 0.13) {
      // A repair delivers the next operation by another route.
      const next = made.find((each) => readiness(each, applied) === 'ready');
      if (next !== undefined) apply(next);
      drain();
    } else {
      const operation = made[randomBelow(random, made.length)];
      if (operation === undefined) continue;
      const state = readiness(operation, applied);
      if (state === 'ready') apply(operation);
      else if (state === 'early') {
        const verdict = pending.hold(operation);
        assert(verdict === naive.hold(operation, operationsMax), 'M21: the model agrees');
      }
      drain();
    }
    assert(pending.operationsCount <= operationsMax, 'M22: the limit holds');
    for (const actor of actors) {
      const counter = applied(actor);
      const through = pending.heldThrough(actor, counter);
      assert(through === naive.heldThrough(actor, counter), 'M24: the model agrees');
    }
  }
  return { made, delivered };
}

test('M20 M21 in any order, with duplicates, small limits, undo and repairs, everything is delivered once and in causal order', () => {
  fc.assert(
    fc.property(inputs, (input) => {
      const { made, delivered } = run(input);
      const names = (list: readonly OperationHead[]) =>
        list.map(({ actor, base }) => `${actor}:${base}`).sort();
      expect(names(delivered)).toEqual(names(made));
    }),
    { numRuns: 150 },
  );
});

test('M22 bytes are counted exactly, and a full buffer changes nothing', () => {
  const actor = actorId(1, 0);
  const operation = (base: number, bytes: number): OperationHead => {
    const encoded = encodeOperation({
      dot: dot(actor, base),
      count: 1,
      body: new Uint8Array(bytes),
    });
    const [head] = readOperationHeads(encoded);
    if (head === undefined) throw new Error('it has one operation');
    return head;
  };
  const [first, second, third] = [operation(2, 100), operation(3, 100), operation(4, 1)];
  const bytesMax = first.end + second.end;
  const pending = new PendingOperations({ operationsMax: 10, bytesMax });
  expect(pending.hold(second)).toBe('held');
  expect(pending.hold(first)).toBe('held');
  expect(pending.bytesCount).toBe(bytesMax);
  expect(pending.hold(third)).toBe('full');
  expect(pending.bytesCount).toBe(bytesMax);
  expect(pending.hold(first)).toBe('duplicate');
  expect(pending.heldThrough(actor, 1)).toBe(3);
  expect(pending.heldThrough(actor, 0)).toBe(0);
  expect(pending.nextReady(() => 1)?.base).toBe(2);
  pending.drop(actor);
  expect(pending.bytesCount).toBe(second.end);
  expect(pending.hold(third)).toBe('held');
  expect(pending.nextReady(() => 99)).toBeUndefined();
  expect(pending.operationsCount).toBe(0);
  expect(pending.bytesCount).toBe(0);
});

test('M21 ranges that overlap a held one are not held', () => {
  const actor = actorId(1, 0);
  const range = (base: number, count: number): OperationHead => ({
    actor,
    base,
    count,
    last: base + count - 1,
    dependencies: [],
    bytes: new Uint8Array(1),
    start: 0,
    end: 1,
  });
  const pending = new PendingOperations({ operationsMax: 10, bytesMax: 100 });
  expect(pending.hold(range(10, 5))).toBe('held');
  for (const [base, count] of [
    [10, 4],
    [10, 6],
    [12, 1],
    [14, 9],
    [9, 2],
    [1, 99],
  ] as const) {
    expect(pending.hold(range(base, count))).toBe('overlapping');
  }
  expect(pending.hold(range(10, 5))).toBe('duplicate');
  expect(pending.hold(range(15, 1))).toBe('held');
  expect(pending.hold(range(9, 1))).toBe('held');
  expect(pending.heldThrough(actor, 8)).toBe(15);
  expect(pending.countOf(actor)).toBe(3);
});

test('a held operation does not keep its frame in memory', () => {
  const frame = new Uint8Array(1_000_000);
  const pending = new PendingOperations({ operationsMax: 10, bytesMax: 100 });
  const place = { bytes: frame, start: 5, end: 15 };
  pending.hold({ actor: actorId(1, 0), base: 5, count: 1, last: 5, dependencies: [], ...place });
  expect(pending.lowest(actorId(1, 0))?.bytes.buffer.byteLength).toBe(10);
});

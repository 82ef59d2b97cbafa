import {
  actorId,
  type Dot,
  dot,
  type Random,
  randomBelow,
  SynclineError,
  VersionVector,
} from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  encodePlanned,
  isCanonical,
  type PlainOperation,
  type PlannedChange,
  type PlannedOperation,
  plainByProtobuf,
  plainOf,
  writePlanned,
} from '../testing/plain-operation.js';
import { decodeOperations } from './decode-operations.js';
import { OperationWriter } from './operation-writer.js';

const actors = fc
  .tuple(fc.constantFrom(1, 2, 0x8000, 0xffff), fc.constantFrom(0, 1, 0xffff))
  .map(([node, epoch]) => actorId(node, epoch));
const counters = fc.oneof(
  fc.integer({ min: 1_000, max: 2_000 }),
  fc.integer({ min: 1_000, max: 2 ** 53 - 2_000 }),
  fc.constantFrom(2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1),
);
/** Few values, so that elements repeat. */
const shortNames = fc.oneof(
  fc.constantFrom('', 'a', 'b').map((name) => Buffer.from(name)),
  fc.uint8Array({ maxLength: 5 }),
);
/** Those whose lengths take one byte, two and three. */
const names = fc.oneof(
  shortNames,
  fc.constantFrom(127, 128, 16_384).map((length) => new Uint8Array(length)),
);

function plansOf(members: fc.Arbitrary<Uint8Array>): fc.Arbitrary<PlannedOperation> {
  const wishes = fc.record({
    set: shortNames,
    member: members,
    kind: fc.constantFrom('add' as const, 'remove' as const),
    dotsWanted: fc.nat({ max: 3 }),
  });
  const draws = fc.record({
    dot: fc.tuple(actors, counters).map(([actor, counter]) => dot(actor, counter)),
    others: fc.array(actors, { maxLength: 3 }),
    wanted: fc.array(wishes, { minLength: 1, maxLength: 16 }),
    seed: fc.nat(),
  });
  return draws.map((draw) => {
    const random = createSeededRandom(draw.seed);
    const others = draw.others.filter((other) => other !== draw.dot.actor);
    const seen = new Set<string>();
    let dotsCount = 0;
    const changes: PlannedChange[] = [];
    for (const { dotsWanted, ...change } of draw.wanted) {
      const name = `${Buffer.from(change.set).toString('hex')} ${Buffer.from(change.member).toString('hex')}`;
      if (seen.has(name)) continue;
      seen.add(name);
      const length = Math.max(change.kind === 'remove' ? 1 : 0, dotsWanted);
      const dropped = Array.from({ length }, (_, i) => earlierDot(random, draw, dotsCount + i));
      dotsCount += length;
      changes.push({ ...change, dropped });
    }
    const dependencies = VersionVector.of(...others.map((other, i) => dot(other, i + 1)));
    return { dot: draw.dot, dependencies, changes };
  });
}

const few = fc.array(plansOf(names), { maxLength: 4 });
const fewShort = fc.array(plansOf(shortNames), { minLength: 1, maxLength: 2 });

/** The n-th dot of a plan: a different one for each n, of the own actor below its base, or of any other actor. */
function earlierDot(random: Random, { dot: first }: { readonly dot: Dot }, n: number): Dot {
  if (randomBelow(random, 2) === 0) return dot(first.actor, first.counter - 1 - n);
  const other = actorId(3 + randomBelow(random, 3), randomBelow(random, 0x10000));
  return dot(other, randomBelow(random, 2 ** 31) * 1_024 + n + 1);
}

test('S23 Protobuf-ES reads operations as they were written', () => {
  fc.assert(
    fc.property(few, (planned) => {
      const record = written(planned);
      expect(plainByProtobuf(record)).toEqual(plainByProtobuf(encodePlanned(planned)));
    }),
    { numRuns: 200 },
  );
});

test('S23 operations are written byte by byte as Protobuf-ES writes them, adds before removes', () => {
  fc.assert(
    fc.property(few, (mixed) => {
      const planned = mixed.map(addsFirst);
      expect(hex(written(planned))).toBe(hex(encodePlanned(planned)));
    }),
    { numRuns: 200 },
  );
});

test('S23 what Protobuf-ES has written is read the same way', () => {
  fc.assert(
    fc.property(few, (planned) => {
      for (const bytes of [encodePlanned(planned), written(planned)]) {
        expect(decoded(bytes)).toEqual(plainByProtobuf(bytes));
      }
    }),
    { numRuns: 200 },
  );
});

test('S23 cut off after any byte, a record is refused, or is the shorter record', () => {
  fc.assert(
    fc.property(fewShort, (planned) => {
      const record = written(planned);
      for (let length = 0; length < record.length; length += 1) {
        judgeAlike(record.subarray(0, length));
      }
    }),
    { numRuns: 20 },
  );
});

test('S23 damaged bytes are refused with a SynclineError, or both Protobuf-ES and the rules allow them', () => {
  const judgements = { read: 0, refused: 0 };
  fc.assert(
    fc.property(fewShort, fc.nat(), (planned, seed) => {
      const random = createSeededRandom(seed);
      const record = written(planned);
      for (let left = 5; left > 0; left -= 1) judgements[judgeAlike(damaged(random, record))] += 1;
    }),
    { numRuns: 500 },
  );
  expect(judgements.read).toBeGreaterThan(100);
  expect(judgements.refused).toBeGreaterThan(100);
});

test('what a record held before it was cleared leaves no trace', () => {
  fc.assert(
    fc.property(few, few, (undone, later) => {
      const writer = new OperationWriter();
      for (const planned of undone) writePlanned(writer, planned);
      writer.clear();
      for (const planned of later) writePlanned(writer, planned);
      expect(hex(writer.bytes().slice())).toBe(hex(written(later)));
      writer.clear();
      expect(writer.size).toBe(0);
    }),
  );
});

function written(planned: readonly PlannedOperation[]): Uint8Array {
  const writer = new OperationWriter();
  for (const operation of planned) {
    const added = operation.changes.filter(({ kind }) => kind === 'add').length;
    expect(writePlanned(writer, operation)).toBe(Math.max(1, added));
  }
  return writer.bytes().slice();
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

function addsFirst(planned: PlannedOperation): PlannedOperation {
  const changes = ['add', 'remove'].flatMap((kind) =>
    planned.changes.filter((change) => change.kind === kind),
  );
  return { ...planned, changes };
}

function decoded(bytes: Uint8Array): readonly PlainOperation[] {
  return [...mapped(bytes)];
}

/** An operation is only valid until the next. */
function* mapped(bytes: Uint8Array): Iterable<PlainOperation> {
  for (const operation of decodeOperations(bytes, 'invalid-argument')) yield plainOf(operation);
}

/** We may refuse more than Protobuf-ES and the rules do, but nothing that Protobuf-ES would have written. */
function judgeAlike(bytes: Uint8Array): 'read' | 'refused' {
  const ours = attempt(() => decoded(bytes));
  const theirs = attempt(() => plainByProtobuf(bytes));
  if (ours instanceof Error) {
    expect(ours).toBeInstanceOf(SynclineError);
    expect(ours).toMatchObject({ code: 'invalid-argument' });
    if (!(theirs instanceof Error)) expect(isCanonical(bytes), ours.message).toBe(false);
    return 'refused';
  }
  expect(ours).toEqual(theirs);
  return 'read';
}

function attempt<T>(act: () => T): T | Error {
  try {
    return act();
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** The same bytes with one to three changes. */
function damaged(random: Random, bytes: Uint8Array): Uint8Array {
  const result = [...bytes];
  for (let left = 1 + randomBelow(random, 3); left > 0; left -= 1) {
    const at = randomBelow(random, result.length + 1);
    const from = randomBelow(random, result.length + 1);
    switch (randomBelow(random, 5)) {
      case 0:
        result[at] = (result[at] ?? 0) ^ (1 << randomBelow(random, 8));
        break;
      case 1:
        result[at] = randomBelow(random, 256);
        break;
      case 2:
        result.splice(at, randomBelow(random, 4));
        break;
      case 3:
        result.splice(at, 0, ...random.bytes(randomBelow(random, 4)));
        break;
      default:
        result.splice(at, 0, ...result.slice(from, from + 30));
    }
  }
  return Uint8Array.from(result);
}

import { actorId } from '@syncline/kernel';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeListing, encodeListing } from './dot-listing.js';
import { DotSet } from './dot-set.js';

const actors = [actorId(1, 0), actorId(1, 1), actorId(65_535, 65_535)];
const dots = fc.array(
  fc.tuple(
    fc.constantFrom(...actors),
    fc.oneof(fc.integer({ min: 1, max: 2_000 }), fc.integer({ min: 2 ** 40, max: 2 ** 40 + 50 })),
  ),
  { maxLength: 120, size: 'max' },
);

const textOf = (set: DotSet) =>
  set
    .actors()
    .flatMap((actor) =>
      [...set.runs(actor)].flatMap(({ from, length }) => `${actor}:${from}+${length}`),
    );

test('it holds what was added and not removed, as runs without a gap', () => {
  fc.assert(
    fc.property(dots, dots, (added, removed) => {
      const set = new DotSet();
      const plain = new Set<string>();
      for (const [actor, counter] of added) {
        expect(set.add(actor, counter)).toBe(!plain.has(`${actor}:${counter}`));
        plain.add(`${actor}:${counter}`);
      }
      for (const [actor, counter] of removed) {
        set.deleteRun(actor, counter, 3);
        for (const next of [0, 1, 2]) plain.delete(`${actor}:${counter + next}`);
      }
      expect(set.size).toBe(plain.size);
      const found = actors.flatMap((actor) =>
        [...set.runs(actor)].flatMap(({ from, length }) =>
          Array.from({ length }, (_, index) => `${actor}:${from + index}`),
        ),
      );
      expect(found.toSorted()).toEqual([...plain].toSorted());
      for (const [actor, counter] of added)
        expect(set.has(actor, counter)).toBe(plain.has(`${actor}:${counter}`));
    }),
  );
});

test('a listing is read back as it was written, chunk by chunk', () => {
  fc.assert(
    fc.property(dots, (added) => {
      const set = new DotSet();
      for (const [actor, counter] of added) set.add(actor, counter);
      const read = new DotSet();
      for (const chunk of encodeListing(set))
        decodeListing(chunk, (actor, from, length) => {
          for (let index = 0; index < length; index += 1) read.add(actor, from + index);
        });
      expect(textOf(read)).toEqual(textOf(set));
    }),
  );
});

test('a large listing takes several chunks, and each can be read by itself', () => {
  const set = new DotSet();
  for (let counter = 1; counter < 300_000; counter += 2) set.add(actorId(1, 1), counter);
  const chunks = [...encodeListing(set)];
  expect(chunks.length).toBeGreaterThan(1);
  for (const chunk of chunks.toReversed())
    decodeListing(chunk, (actor, from, length) => set.deleteRun(actor, from, length));
  expect(set.size).toBe(0);
});

test('bytes that are not a listing are refused', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      try {
        decodeListing(bytes, (_actor, from, length) => {
          expect(from).toBeGreaterThan(0);
          expect(length).toBeGreaterThan(0);
        });
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: 'invalid-argument' });
      }
    }),
  );
});

test('removing a long run takes time proportional to the size of the set at most', () => {
  const set = new DotSet();
  set.add(actorId(1, 1), 2 ** 50);
  set.deleteRun(actorId(1, 1), 1, 2 ** 52);
  expect(set.size).toBe(0);
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ChangeRing } from './change-ring.js';

interface Change {
  readonly revision: number;
  readonly key: string;
  readonly bytes: number;
}

const changes = fc
  .array(
    fc.record({
      skip: fc.nat({ max: 2 }),
      key: fc.constantFrom('a', 'b', 'c'),
      bytes: fc.nat({ max: 9 }),
    }),
    {
      maxLength: 60,
      size: 'max',
    },
  )
  .map((list) => {
    let revision = 3;
    return list.map(({ skip, key, bytes }): Change => {
      revision += 1 + skip;
      return { revision, key, bytes };
    });
  });

describe('the ring of the newest changes', () => {
  test('K24 it holds every change above compactedTo and the latest above coalescedTo within its bounds, and pages like a plain list', () => {
    fc.assert(
      fc.property(
        changes,
        fc.record({ changesMax: fc.nat({ max: 20 }), bytesMax: fc.nat({ max: 80 }) }),
        fc.record({
          behind: fc.nat({ max: 30 }),
          coalesced: fc.nat({ max: 30 }),
          countMax: fc.integer({ min: 1, max: 5 }),
          bytesMax: fc.nat({ max: 20 }),
        }),
        (list, bounds, { behind, coalesced, countMax, bytesMax }) => {
          const ring = new ChangeRing<Change>({ ...bounds, bytesOf: ({ bytes }) => bytes }, 3);
          for (const change of list) ring.push(change);
          const last = list.at(-1)?.revision ?? 3;
          const { compactedTo, coalescedTo } = ring;
          const latest = new Map(list.map(({ key, revision }) => [key, revision]));
          const newest = list.filter(({ revision }) => revision > compactedTo);
          const older = list.filter(
            ({ revision, key }) =>
              revision > coalescedTo && revision <= compactedTo && latest.get(key) === revision,
          );
          const bytesOfAll = [...older, ...newest].reduce((sum, { bytes }) => sum + bytes, 0);
          expect(ring.bytes).toBe(bytesOfAll);
          expect(ring.bytes <= bounds.bytesMax).toBe(true);
          expect(Math.max(newest.length, older.length) <= bounds.changesMax).toBe(true);

          const after = Math.max(coalescedTo, last - behind);
          const coalesceTo = Math.max(after + coalesced, after < compactedTo ? compactedTo : 0);
          expect(ring.has(after, coalesceTo)).toBe(true);
          expect(ring.has(compactedTo - 1, compactedTo - 1)).toBe(false);
          expect(ring.has(coalescedTo - 1, last)).toBe(false);
          const expected = list.filter(
            ({ revision, key }) =>
              revision > after &&
              key !== 'c' &&
              (revision > coalesceTo || latest.get(key) === revision),
          );
          const paged: Change[] = [];
          for (let through = after; through < last; ) {
            const isInScope = ({ key }: Change) => key !== 'c';
            const page = ring.page(through, { countMax, bytesMax, coalesceTo, isInScope });
            expect(page.changes.length).toBeLessThanOrEqual(countMax);
            const pageBytes = page.changes.reduce((sum, { bytes }) => sum + bytes, 0);
            expect(page.changes.length === 1 || pageBytes <= bytesMax).toBe(true);
            expect(page.through).toBeGreaterThan(through);
            paged.push(...page.changes);
            through = page.through;
          }
          expect(paged).toEqual(expected);

          const from = Math.max(after, compactedTo);
          const wanted = newest.filter(({ revision, key }) => revision > from && key !== 'c');
          const isInScope = ({ key }: Change) => key !== 'c';
          const wantedBytes = wanted.reduce((sum, { bytes }) => sum + bytes, 0);
          expect(
            [
              { eventsMax: wanted.length, bytesMax: wantedBytes },
              { eventsMax: wanted.length - 1, bytesMax: wantedBytes },
              { eventsMax: wanted.length, bytesMax: wantedBytes - 1 },
            ].map((most) => ring.exceeds(from, { ...most, isInScope })),
          ).toEqual([false, wanted.length > 0, wanted.length > 0]);
        },
      ),
    );
  });

  test('K24 it stays small after many changes have passed through it', () => {
    const ring = new ChangeRing<Change>({ changesMax: 10, bytesMax: 1e9, bytesOf: () => 1 }, 0);
    for (let revision = 1; revision <= 5_000; revision += 1) {
      ring.push({ revision, key: `k${revision}`, bytes: 1 });
    }
    expect(ring.bytes).toBe(20); // the newest and as many older ones
    const all = { countMax: 100, bytesMax: 100, coalesceTo: 5_000, isInScope: () => true };
    expect(ring.page(ring.compactedTo, all).changes.map(({ revision }) => revision)).toEqual(
      Array.from({ length: 10 }, (_, index) => 4_991 + index),
    );
  });

  test('K24 a rarely written key stays as long as there is room among the older changes', () => {
    const ring = new ChangeRing<Change>({ changesMax: 4, bytesMax: 1e9, bytesOf: () => 1 }, 0);
    ring.push({ revision: 1, key: 'seldom', bytes: 1 });
    for (let revision = 2; revision <= 1_000; revision += 1) {
      ring.push({ revision, key: revision % 6 === 0 ? 'now and then' : 'often', bytes: 1 });
    }
    expect([ring.coalescedTo, ring.compactedTo]).toEqual([0, 996]);
    const all = { countMax: 100, bytesMax: 100, coalesceTo: 1_000, isInScope: () => true };
    expect(ring.page(0, all).changes.map(({ revision }) => revision)).toEqual([1, 996, 1_000]);
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decayed } from '../decay.js';
import { ManualClock } from '../evaluation/manual-clock.js';
import { createServiceRig, SEED, valuesOf, viewOf } from '../testing/service-rig.js';
import type { Namespace } from './fair-store.js';
import { createMemoryFairStore } from './memory-fair-store.js';

const probabilities = fc.double({ min: 0, max: 1, noNaN: true });
const view = fc.array(fc.tuple(fc.nat(2), fc.nat(9), probabilities), { maxLength: 40 });
const tracker: Namespace = {
  name: 'api',
  rule: { policy: 'exponential', ratePerSecond: 0.01 },
  shape: { levels: 3, columns: 10 },
  windowMs: 300_000,
};

type View = readonly (readonly [number, number, number])[];

/** All cells of a store after views were joined, with time passing before each. */
function joined(views: readonly View[], stepMs = 0): ReadonlyMap<string, number> {
  const clock = new ManualClock(0);
  const store = createMemoryFairStore({ clock });
  for (const rows of views) {
    clock.advanceTo(clock.monotonicMs() + stepMs);
    store.joinView(tracker, SEED, viewOf(rows));
  }
  const cells = store.getSeed(tracker, SEED);
  const list = Array.from(
    { length: cells.count },
    (_, index) =>
      [`${cells.rows[index]}/${cells.columns[index]}`, cells.probabilities[index] ?? 0] as const,
  );
  return new Map(list);
}

describe('F14 joining views', () => {
  test('is idempotent, commutative and associative', () => {
    fc.assert(
      fc.property(view, view, view, (one, two, three) => {
        const all = joined([one, two, three]);
        expect(joined([three, one, two])).toEqual(all);
        expect(joined([one, two, three, two, one])).toEqual(all);
        expect(joined([[...two, ...one], three])).toEqual(all);
      }),
    );
  });

  test('leaves no cell below the largest view minus decay', () => {
    fc.assert(
      fc.property(
        fc.array(view, { minLength: 1, maxLength: 5 }),
        fc.nat(60_000),
        (views, stepMs) => {
          const cells = joined(views, stepMs);
          for (const [index, rows] of views.entries()) {
            const elapsedMs = (views.length - 1 - index) * stepMs;
            for (const [row, column, probability] of rows) {
              const least = decayed(
                { policy: 'exponential', ratePerSecond: 0.01 },
                probability,
                elapsedMs,
              );
              const held = cells.get(`${row}/${column}`) ?? 0;
              expect(held).toBeGreaterThanOrEqual(least - 1e-6); // as good as 0 is not listed
            }
          }
        },
      ),
    );
  });
});

describe('F15 namespaces', () => {
  test('are independent, however their messages interleave', () => {
    const places = ['', 'api', 'web'];
    const step = fc.record({
      place: fc.nat(places.length - 1),
      cell: fc.nat(9),
      asksState: fc.boolean(),
      settles: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { connect, settle } = createServiceRig();
        const clients = places.flatMap((place) =>
          ['one', 'two'].map((clientId) => {
            const client = connect();
            if (place !== '') client.hello(place, clientId);
            return { place, client };
          }),
        );
        for (const { place, cell, asksState, settles } of steps) {
          const client = clients[place * 2 + (cell % 2)]?.client;
          // The row says where the cell belongs.
          if (asksState) client?.requestState();
          else client?.deltas([[place, cell, 0.1]]);
          if (settles) settle();
        }
        settle();
        for (const { place, client } of clients) {
          expect(client.error).toBeUndefined();
          for (const response of client.take())
            for (const cell of valuesOf(response).keys())
              expect(places[Number(cell.split('/')[0])]).toBe(place);
        }
      }),
      { numRuns: 100 },
    );
  });
});

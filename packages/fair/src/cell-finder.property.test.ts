import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CellFinder } from './cell-finder.js';
import type { FlowKey } from './flow-key.js';
import { columnAt, KeyedHash, MurmurHash } from './key-hash.js';
import { fairLimits } from './limits.js';

const secret = Uint8Array.from({ length: 32 }, (_, index) => index);
const salts = [Uint32Array.of(1, 2, 3, 4), Uint32Array.of(5, 6, 7, 8)] as const;
const unitsMax = fairLimits.keyUnitsCachedMax.value;

const keys: fc.Arbitrary<FlowKey> = fc.oneof(
  fc.integer({ min: 0, max: 3 * fairLimits.keysCachedMax.value }).map((n) => `tenant-${n}`),
  fc.constantFrom('a', 'b', 'ab', 'xab', 'ü', '東京', '\ud800'),
  fc.string({ minLength: 1, unit: 'binary' }),
  fc.string({ minLength: unitsMax - 1, maxLength: unitsMax + 1 }),
  fc.uint8Array({ minLength: 1 }),
);
const shapes = fc.record({
  levels: fc.integer({ min: 1, max: fairLimits.levelsMax.value }),
  columns: fc.oneof(
    fc.integer({ min: 2, max: fairLimits.columnsMax.value }),
    fc.constantFrom(2, 3, 1_000, 65_535, 65_536),
  ),
  hash: fc.constantFrom(new KeyedHash(secret), new MurmurHash((seed) => Uint32Array.of(seed))),
});

test('F20 cached or not, a key has the cells that its hash gives', () => {
  fc.assert(
    fc.property(shapes, fc.array(keys, { maxLength: 40 }), fc.nat(), (shape, asked, turnAt) => {
      const { levels, columns, hash } = shape;
      const finder = new CellFinder(shape);
      let [main, secondary] = salts;
      finder.enter(main, secondary);
      for (const [index, key] of [...asked, ...asked].entries()) {
        if (index === turnAt % (2 * asked.length)) {
          [main, secondary] = [secondary, main];
          finder.enter(main, secondary);
        }
        const start = index % 2 === 0 ? finder.find(key) : finder.findAgain(key);
        expect(finder.findAgain(key)).toBe(start);
        const expected = [main, secondary].flatMap((salt) => {
          const words = new Uint32Array(2);
          hash.digest(key);
          hash.locate(salt, words);
          const columnOf = (level: number) => columnAt(words, level, columns);
          return Array.from({ length: levels }, (_, level) => level * columns + columnOf(level));
        });
        expect([...finder.cells.subarray(start, start + 2 * levels)]).toEqual(expected);
      }
    }),
  );
});

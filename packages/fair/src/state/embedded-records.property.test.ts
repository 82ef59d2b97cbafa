// Written records are read back, and arbitrary bytes are refused or give a valid cell.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  cellKey,
  decodeCell,
  decodeNamespace,
  encodeCell,
  encodeNamespace,
  isSameMeaning,
  namespaceKey,
  namespaceOfCell,
  seedPrefix,
} from './embedded-records.js';
import type { Namespace } from './fair-store.js';

const shape = fc.record({
  levels: fc.integer({ min: 1, max: 16 }),
  columns: fc.integer({ min: 1, max: 65_536 }),
});
const named: fc.Arbitrary<Namespace> = fc.record({
  name: fc.stringMatching(/^[A-Za-z0-9._@-]{1,64}$/),
  rule: fc.record({
    policy: fc.constantFrom('exponential' as const, 'linear' as const),
    ratePerSecond: fc.double({ min: 0, max: 10, noNaN: true }),
  }),
  shape,
  windowMs: fc.integer({ min: 10_000, max: 86_400_000 }),
});
const byDefault: Namespace = {
  name: '',
  rule: { policy: 'sum' },
  shape: undefined,
  windowMs: 300_000,
};
const anyNamespace = fc.oneof(named, fc.constant(byDefault));
const seed = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const wide = fc.maxSafeNat();

test('F50 a tracker and its cells are read back as they were written', () => {
  fc.assert(
    fc.property(
      anyNamespace,
      seed,
      fc.tuple(wide, wide),
      fc.double({ min: 0, max: 1, noNaN: true }),
      wide,
      (namespace, ofSeed, [anyRow, anyColumn], probability, timeMs) => {
        const record = encodeNamespace(namespace);
        const restored = decodeNamespace(namespaceKey(namespace.name), record);
        expect(restored).toBeDefined();
        if (restored === undefined) return;
        expect(isSameMeaning(restored, namespace)).toBe(true);
        const row = anyRow % (namespace.shape?.levels ?? Number.POSITIVE_INFINITY);
        const column = anyColumn % (namespace.shape?.columns ?? Number.POSITIVE_INFINITY);
        const key = cellKey(seedPrefix(namespace.name, ofSeed), { row, column });
        expect(namespaceOfCell(key)).toBe(namespace.name);
        const cell = decodeCell(restored, key, encodeCell(probability, timeMs));
        expect(cell).toEqual({ seed: ofSeed, row, column, probability, timeMs });
      },
    ),
  );
});

test('F50 other bytes are neither a tracker nor a cell', () => {
  const hostile = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.json().map((text) => new TextEncoder().encode(text)),
    fc.tuple(fc.double(), fc.double()).map(([p, time]) => encodeCell(p, time)),
  );
  const key = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.stringMatching(/^fair\/[a-z]{0,3}(\/-?[0-9]{0,25}){0,4}$/).map((text) => Buffer.from(text)),
  );
  fc.assert(
    fc.property(anyNamespace, key, hostile, (namespace, ofKey, value) => {
      const found = decodeNamespace(ofKey, value);
      if (found !== undefined) expect(isSameMeaning(found, found)).toBe(true);
      const cell = decodeCell(namespace, ofKey, value);
      if (cell === undefined) return;
      expect(cell.probability).toBeGreaterThanOrEqual(0);
      expect(cell.probability).toBeLessThanOrEqual(1);
      expect(Number.isFinite(cell.timeMs)).toBe(true);
      expect(cell.row).toBeLessThan(namespace.shape?.levels ?? 2 ** 53);
      expect(cell.column).toBeLessThan(namespace.shape?.columns ?? 2 ** 53);
    }),
  );
});

test('cells of one meaning are not read under another', () => {
  const api = { ...byDefault, name: 'api', shape: { levels: 3, columns: 10 } } as const;
  const one: Namespace = { ...api, rule: { policy: 'linear', ratePerSecond: 0.005 } };
  const others: readonly Namespace[] = [
    { ...one, rule: { policy: 'exponential', ratePerSecond: 0.005 } },
    { ...one, rule: { policy: 'linear', ratePerSecond: 0.01 } },
    { ...one, shape: { levels: 4, columns: 10 } },
    { ...one, windowMs: 10_000 },
  ];
  for (const other of others) expect(isSameMeaning(one, other)).toBe(false);
  expect(isSameMeaning(one, { ...one, rule: { ratePerSecond: 0.005, policy: 'linear' } })).toBe(
    true,
  );
});

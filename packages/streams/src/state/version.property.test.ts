import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ByteReader } from '../snapshot/byte-reader.js';
import { ByteWriter } from '../snapshot/byte-writer.js';
import { type LogicalTime, type VersionType, versionsOf } from './version.js';

const integers = fc.oneof(
  fc.maxSafeInteger(),
  fc.integer({ min: -2, max: 2 }),
  fc.constantFrom(63, 64, -64, -65, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER),
);
const times: fc.Arbitrary<LogicalTime> = fc.record(
  {
    epoch: integers,
    round: integers,
    origin: fc.string({ unit: 'binary', maxLength: 3 }),
    index: integers,
  },
  { requiredKeys: ['epoch', 'round'] },
);
const bigints = fc.bigInt({ min: 1n - 2n ** 256n, max: 2n ** 256n - 1n });

function laws<Ver>(versions: VersionType<Ver>, arbitrary: fc.Arbitrary<Ver>): void {
  test('X5 decoding undoes encoding and reads nothing more', () => {
    fc.assert(
      fc.property(arbitrary, (given) => {
        const version = versions.check(given);
        const writer = new ByteWriter();
        versions.write(writer, version);
        const reader = new ByteReader('version', writer.copy());
        expect(versions.read(reader)).toEqual(version);
        expect(reader.left).toBe(0);
      }),
    );
  });

  test('X5 the order is total', () => {
    fc.assert(
      fc.property(arbitrary, arbitrary, arbitrary, (...given) => {
        const [a, b, c] = given.map((version) => versions.check(version)) as [Ver, Ver, Ver];
        const [ab, bc] = [versions.compare(a, b), versions.compare(b, c)];
        expect(Math.sign(versions.compare(b, a))).toBe(-Math.sign(ab) + 0);
        if (ab <= 0 && bc <= 0) expect(versions.compare(a, c)).toBeLessThanOrEqual(0);
        if (ab === 0) expect(a).toEqual(b);
      }),
    );
  });
}

describe('numbers', () => laws(versionsOf('number'), integers));
describe('bigints', () => laws(versionsOf('bigint'), bigints));
describe('logical times', () => laws(versionsOf('logical-time'), times));

test('X5 numbers have one form: padding is refused', () => {
  for (const hex of ['8000', '818000', 'ffffffffffffffff7f']) {
    const bytes = Buffer.from(hex, 'hex');
    const refused = expect.objectContaining({ code: 'corrupt' });
    expect(() => new ByteReader('number', bytes).varint(), hex).toThrow(refused);
    expect(() => new ByteReader('number', bytes).zigzag(), hex).toThrow(refused);
  }
});

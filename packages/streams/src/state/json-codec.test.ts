import fc from 'fast-check';
import { expect, test } from 'vitest';
import { streamsLimits } from '../limits.js';
import { jsonCodec } from './json-codec.js';

const codec = jsonCodec<unknown>();
const textOf = (value: unknown) => Buffer.from(codec.encode(value)).toString();

test('X6 what JSON can hold comes back as it was', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(codec.decode(codec.encode(value), 1)).toEqual(value);
    }),
  );
});

test('X6 members are sorted at every level, so their order does not matter', () => {
  expect(textOf({ b: 1, a: { d: [2, { z: 0, y: 0 }], c: null } })).toBe(
    '{"a":{"c":null,"d":[2,{"y":0,"z":0}]},"b":1}',
  );
  expect(textOf({ 10: 1, 9: 2 })).toBe('{"10":1,"9":2}');
});

test('X6 undefined members are left out, and -0 is kept', () => {
  expect(textOf({ a: undefined, b: -0 })).toBe('{"b":-0}');
  expect(codec.decode(codec.encode(-0), 1)).toBe(-0);
});

test('X6 values may be nested to the limit and no deeper', () => {
  const nested = (levels: number) => {
    let value: unknown = 1;
    for (let level = 0; level < levels; level += 1) value = [value];
    return value;
  };
  const { value: depthMax } = streamsLimits.jsonDepthMax;
  expect(textOf(nested(depthMax))).toHaveLength(2 * depthMax + 1);
  expect(() => codec.encode(nested(depthMax + 1))).toThrow(
    expect.objectContaining({ code: 'bad-record' }),
  );
});

test('a value that is shared so often that its text would be huge is refused early', () => {
  let value: unknown = 'x'.repeat(100);
  for (let level = 0; level < 50; level += 1) value = [value, value];
  expect(() => codec.normalise?.(value)).toThrow(
    expect.objectContaining({ code: 'limit-exceeded' }),
  );
});

test('bytes that are not JSON are corrupt', () => {
  expect(() => codec.decode(Buffer.from('{'), 1)).toThrow(
    expect.objectContaining({ code: 'corrupt' }),
  );
});

test('X6 a value is kept in the form in which it would come back', () => {
  const sorted = { a: [1, { b: 2, c: 3 }], z: null };
  expect(codec.normalise?.(sorted)).toBe(sorted);
  const given = { z: null, gone: undefined, a: [1, { c: 3, b: 2 }] };
  const kept = codec.normalise?.(given);
  const restored = codec.decode(codec.encode(given), 1);
  expect(JSON.stringify(kept)).toBe(JSON.stringify(restored));
  expect(kept).toStrictEqual(restored);
});

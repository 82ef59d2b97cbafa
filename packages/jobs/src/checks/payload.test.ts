import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jobsLimits } from '../limits.js';
import { checkPayload as payloadJson } from './checked-write.js';

/** What is stored, as an object. */
const checkPayload = (value: unknown) => JSON.parse(payloadJson(value));

interface Refusal {
  readonly code: string;
  readonly details: {
    readonly field?: string;
    readonly limit?: string;
    readonly issues?: readonly { readonly message: string; readonly path: readonly unknown[] }[];
  };
}

function refusal(value: unknown): Refusal {
  try {
    checkPayload(value);
  } catch (thrown) {
    return thrown as Refusal;
  }
  throw new Error('expected a refusal');
}

/** `levels` nested objects. */
function nested(levels: number): object {
  return levels === 1 ? {} : { a: nested(levels - 1) };
}

/** Exactly this long as JSON. */
function sized(bytes: number): object {
  return { a: 'x'.repeat(bytes - '{"a":""}'.length) };
}

describe('payloads', () => {
  test('J20 values that JSON cannot represent are refused, with their path', () => {
    const cyclic: { self?: unknown } = {};
    cyclic.self = { again: cyclic };
    const places = [
      [{ a: Number.NaN }, ['a']],
      [{ a: [1, Number.POSITIVE_INFINITY] }, ['a', 1]],
      [{ a: 1n }, ['a']],
      [{ a: [undefined] }, ['a', 0]],
      [{ a: () => 1 }, ['a']],
      [{ a: Symbol('s') }, ['a']],
      [{ a: { b: new Date(0) } }, ['a', 'b']],
      [{ a: new Map() }, ['a']],
      [{ a: new Uint8Array(1) }, ['a']],
      [cyclic, ['self', 'again']],
    ] as const;
    for (const [value, path] of places) {
      const { code, details } = refusal(value);
      expect([code, details.field, details.issues?.[0]?.path]).toEqual([
        'invalid-argument',
        'payload',
        path,
      ]);
    }
    for (const value of [null, 1, 'a', true, [], new Date(0), undefined]) {
      expect(refusal(value).details.issues).toHaveLength(1);
    }
  });

  test('J20 depth at n − 1, n and n + 1', () => {
    const { value: most } = jobsLimits.payloadDepthMax;
    expect(checkPayload(nested(most - 1))).toEqual(nested(most - 1));
    expect(checkPayload(nested(most))).toEqual(nested(most));
    expect(refusal(nested(most + 1))).toMatchObject({ code: 'invalid-argument' });
  });

  test('J20 bytes at n − 1, n and n + 1', () => {
    const { value: most } = jobsLimits.payloadBytesMax;
    expect(checkPayload(sized(most - 1))).toEqual(sized(most - 1));
    expect(checkPayload(sized(most))).toEqual(sized(most));
    const tooLarge = { code: 'limit-exceeded', details: { limit: 'payloadBytesMax' } };
    expect(refusal(sized(most + 1))).toMatchObject(tooLarge);
    expect(refusal({ a: 'é'.repeat(most / 2) })).toMatchObject(tooLarge);
    expect(refusal({ a: '\n'.repeat(most / 2) })).toMatchObject(tooLarge);
  });

  test('J20 a payload that is small in memory and huge as JSON is refused at once', () => {
    let value: unknown = 1;
    for (let i = 0; i < 15; i += 1) value = Array.from({ length: 50 }, () => value); // 50^15 numbers
    const tooLarge = { details: { limit: 'payloadBytesMax' } };
    expect(refusal({ value })).toMatchObject(tooLarge);
    const sparse: unknown[] = [];
    sparse.length = 2 ** 32 - 1;
    expect(refusal({ sparse })).toMatchObject({ code: 'invalid-argument' });
  });

  test('returns a copy, as JSON keeps it', () => {
    const given = { a: { b: [1, -0, 'x'] }, gone: undefined, ['__proto__']: { evil: true } };
    const copy = checkPayload(given);
    expect(JSON.stringify(copy)).toBe(JSON.stringify(given));
    expect(Object.keys(copy)).toEqual(['a', '__proto__']);
    given.a.b.push(2);
    expect(copy).toHaveProperty('a', { b: [1, 0, 'x'] });
    expect(checkPayload(Object.create(null))).toEqual({});
  });

  test('J20 every JSON object within the limits passes, and is stored as it is', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (payload) => {
        const plain: unknown = JSON.parse(JSON.stringify(payload));
        expect(checkPayload(plain)).toEqual(plain);
      }),
    );
  });

  test('J20 any value is either refused or valid JSON', () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
    });
    fc.assert(
      fc.property(fc.dictionary(fc.string(), anything), (value) => {
        try {
          const copy = checkPayload(value);
          expect(JSON.stringify(copy)).toBe(JSON.stringify(value));
        } catch (thrown) {
          expect(['invalid-argument', 'limit-exceeded']).toContain((thrown as Refusal).code);
        }
      }),
    );
  });
});

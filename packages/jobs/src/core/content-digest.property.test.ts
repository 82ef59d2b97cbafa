import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../state.js';
import { canonicalJson } from './canonical-json.js';
import { contentDigest } from './content-digest.js';

const content = { status: 1, message: 'm', schemaVersion: 1 };

describe('the digest of a write', () => {
  test('J2 is the same for equal payloads, whatever the order of their members', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (payload) => {
        const given = payload as JsonObject;
        const turned = reversed(given) as JsonObject;
        expect(contentDigest({ ...content, payload: turned })).toBe(
          contentDigest({ ...content, payload: given }),
        );
      }),
    );
  });

  test('J2 canonical JSON is JSON of the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const plain = JSON.parse(JSON.stringify(value)) as JsonValue;
        expect(JSON.parse(canonicalJson(plain))).toEqual(plain);
      }),
    );
  });

  test('J2 tells apart what lies in another place', () => {
    const digests = [
      content,
      { ...content, status: 2 },
      { ...content, message: '' },
      { ...content, schemaVersion: 2 },
      { ...content, payload: {} },
      { ...content, payload: { a: 1, b: 2 } },
      { ...content, payload: { a: 2, b: 1 } },
      { ...content, payload: { a: [1, 2] } },
      { ...content, payload: { a: [2, 1] } },
      { ...content, payload: { a: '1' } },
    ].map((write) => contentDigest(write));
    expect(new Set(digests).size).toBe(digests.length);
    for (const digest of digests) expect(digest).toMatch(/^[\w-]{22}$/);
  });
});

function reversed(value: JsonValue): JsonValue {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(reversed);
  const members = Object.entries(value).map(([name, member]) => [name, reversed(member)] as const);
  return Object.fromEntries(members.toReversed());
}

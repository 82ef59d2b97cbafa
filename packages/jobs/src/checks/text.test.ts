import { describe, expect, test } from 'vitest';
import { jobsLimits } from '../limits.js';
import {
  checkEventId,
  checkHolder,
  checkJobId,
  checkMessage,
  checkTag,
  cutMessage,
} from './values.js';

function refusal(check: () => unknown): unknown {
  try {
    check();
    return 'ok';
  } catch (thrown) {
    const { code, details } = thrown as {
      code: string;
      details: { field?: string; limit?: string };
    };
    return `${code} ${details.field ?? details.limit}`;
  }
}

/** The result for each value: `ok`, or code and field. */
function answers(check: (value: unknown) => unknown, values: readonly unknown[]): unknown[] {
  return values.map((value) => refusal(() => check(value)));
}

const all = (count: number, answer: string) => Array.from({ length: count }, () => answer);

describe('names and texts', () => {
  test('J20 job ids', () => {
    const good = ['a', '9', 'nightly-42', 'A.b_c:d-e', 'a'.repeat(127), 'a'.repeat(128)];
    expect(answers(checkJobId, good)).toEqual(all(good.length, 'ok'));
    const bad = ['', '-a', '.', 'a b', 'a/b', 'a\n', 'é', 'a'.repeat(129), 1, null, undefined];
    expect(answers(checkJobId, bad)).toEqual(all(bad.length, 'invalid-argument jobId'));
  });

  test('J20 tags are counted in bytes', () => {
    const good = ['a', 'in/gest', '🟢', 'a'.repeat(127), 'a'.repeat(128), 'é'.repeat(64)];
    expect(answers(checkTag, good)).toEqual(all(good.length, 'ok'));
    const controls = ['\u0000', 'a\tb', '\u007f', '\u0085'];
    const bad = ['', 'a'.repeat(129), `${'é'.repeat(64)}a`, '\ud83d', ...controls, 1, undefined];
    expect(answers(checkTag, bad)).toEqual(all(bad.length, 'invalid-argument tag'));
  });

  test('J20 event ids and holders', () => {
    const good = ['e', ' ~', 'e'.repeat(63), 'e'.repeat(64)];
    expect(answers(checkEventId, good)).toEqual(all(good.length, 'ok'));
    const bad = ['', 'e'.repeat(65), 'é', 'a\n', 1];
    expect(answers(checkEventId, bad)).toEqual(all(bad.length, 'invalid-argument eventId'));
    const holders = ['', 'host-1 (pid 7)', 'h'.repeat(127), 'h'.repeat(128)];
    expect(answers(checkHolder, holders)).toEqual(all(holders.length, 'ok'));
    const badHolders = ['h'.repeat(129), 'é'.repeat(65), 'a\nb', undefined];
    expect(answers(checkHolder, badHolders)).toEqual(
      all(badHolders.length, 'invalid-argument holder'),
    );
  });

  test('J20 messages are counted in bytes; invalid characters are replaced', () => {
    const { value: most } = jobsLimits.messageBytesMax;
    const good = ['', 'a\nb', 'a'.repeat(most - 1), 'a'.repeat(most), 'é'.repeat(most / 2)];
    expect(answers(checkMessage, good)).toEqual(all(good.length, 'ok'));
    const large = ['a'.repeat(most + 1), `${'é'.repeat(most / 2)}a`];
    expect(answers(checkMessage, large)).toEqual(
      all(large.length, 'limit-exceeded messageBytesMax'),
    );
    expect(refusal(() => checkMessage(7))).toBe('invalid-argument message');
    expect(checkMessage('a\ud83db')).toBe('a\ufffdb');
  });

  test('truncates a message between characters', () => {
    const { value: most } = jobsLimits.messageBytesMax;
    for (const text of ['', 'short', 'a'.repeat(most), '🟢'.repeat(most / 4)]) {
      expect(cutMessage(text)).toBe(text);
    }
    for (const letter of ['a', 'é', '…', '🟢']) {
      for (let shift = 0; shift < 4; shift += 1) {
        const text = 'x'.repeat(shift) + letter.repeat(most + 1);
        const cut = cutMessage(text);
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(most);
        expect(Buffer.byteLength(cut)).toBeGreaterThan(most - 4);
        expect(text.startsWith(cut.slice(0, -1))).toBe(true);
        expect(cut.endsWith('…')).toBe(true);
        expect(() => checkMessage(cut)).not.toThrow();
      }
    }
  });

  test('reports the given value, truncated, and what was expected', () => {
    expect(() => checkJobId('x'.repeat(500))).toThrow(
      /^jobId is "x{63}…; expected 1 to 128 letters, digits or \._:- starting with a letter or digit$/,
    );
    expect(() => checkTag(undefined)).toThrow('tag is undefined; expected');
    expect(() => checkTag({})).toThrow('tag is an object; expected');
    expect(() => checkTag([1, 2])).toThrow('tag is a list of 2; expected');
    expect(() => checkTag('a\nb')).toThrow(String.raw`tag is "a\nb"; expected`);
  });
});

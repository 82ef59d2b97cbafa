import { describe, expect, test } from 'vitest';
import { AssertionError, ERROR_CODES, isErrorCode, SynclineError } from './index.js';

describe('K1 SynclineError', () => {
  test('defaults to the retryability of its code and to not-applied, both of which can be overridden', () => {
    expect(new SynclineError('overloaded', 'full')).toMatchObject({
      retryable: true,
      outcome: 'not-applied',
      details: {},
    });
    const sent = new SynclineError('timeout', 'no answer', {
      outcome: 'unknown',
      retryable: false,
    });
    expect(sent).toMatchObject({ retryable: false, outcome: 'unknown' });
  });

  test('from keeps our errors, converts aborts, and wraps the rest with its cause', () => {
    const ours = new SynclineError('fenced', 'x');
    expect(SynclineError.from(ours)).toBe(ours);
    const abort = new DOMException('stop', 'AbortError');
    expect(SynclineError.from(abort)).toMatchObject({ code: 'aborted', cause: abort });
    const other = new TypeError('bad');
    expect(SynclineError.from(other, 'corrupt')).toMatchObject({ code: 'corrupt', cause: other });
    expect(() => SynclineError.from(new AssertionError('ours'))).toThrow(AssertionError);
    expect(SynclineError.from('text')).toMatchObject({ code: 'unavailable', message: 'text' });
    expect(SynclineError.from(Object.create(null))).toMatchObject({ message: '[object Object]' });
  });

  test('with changes what is given and keeps the rest', () => {
    const sent = new SynclineError('timeout', 'no answer', {
      retryable: false,
      outcome: 'unknown',
      details: { limit: 'a' },
    });
    const { code, message, retryable, details } = sent;
    expect(sent.with({ outcome: 'not-applied' })).toMatchObject({
      ...{ code, message, retryable, details, cause: sent },
      outcome: 'not-applied',
    });
    const plain = sent.with({ details: {}, cause: undefined });
    expect(plain).toMatchObject({ code, message, retryable, outcome: 'unknown', details: {} });
    expect(plain.cause).toBeUndefined();
    expect(sent.withOutcome('unknown')).toBe(sent);
    const applied = sent.with({ cause: 'reset' }).withOutcome('not-applied');
    expect(applied).toMatchObject({ code, details, outcome: 'not-applied', cause: 'reset' });
  });

  test('codes are a closed list of kebab-case names with a meaning', () => {
    for (const [code, { meaning }] of Object.entries(ERROR_CODES)) {
      expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/);
      expect(meaning.endsWith('.'), code).toBe(true);
    }
    expect([isErrorCode('fenced'), isErrorCode('toString')]).toEqual([true, false]);
  });
});

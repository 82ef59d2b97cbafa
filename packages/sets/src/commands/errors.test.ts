import { ERROR_TABLE } from '@syncline/protocol';
import { expect, test } from 'vitest';
import { errorFor, errorPrefixes, errorTexts } from './errors.js';

test('every error prefix is listed, and no other', () => {
  const texts = [
    ...Object.values(errorTexts),
    ...Object.values(ERROR_TABLE).map(({ resp }) => resp),
    errorFor.execRefused(''),
    errorFor.noQuorum(1, 2),
    errorFor.notReady('-'),
  ];
  const words = new Set(texts.map((text) => text.split(' ')[0] ?? ''));
  expect(words).toEqual(new Set(Object.keys(errorPrefixes)));
});

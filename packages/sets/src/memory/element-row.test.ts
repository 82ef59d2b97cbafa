import { actorId, dot } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { type DotWords, NO_DOT, SEVERAL_DOTS, SeveralDots } from './element-row.js';

const noWords = (): DotWords => ({ actor: 0, high: 0, low: 0 });

test.each([0, 1, 2])('%s dots are read as they were written, sorted', (count) => {
  const several = new SeveralDots();
  const dots = [dot(actorId(65_535, 65_535), 2 ** 53 - 1), dot(actorId(1, 0), 2 ** 31)];
  const words = noWords();
  several.write(dots.slice(0, count), words);
  for (const word of Object.values(words)) expect(word | 0).toBe(word);
  expect(several.read(words)).toEqual(dots.slice(0, count).reverse());
  if (count === 0) expect(words.actor).toBe(NO_DOT);
  expect([words.actor === SEVERAL_DOTS, several.size]).toEqual([count > 1, count > 1 ? 1 : 0]);
});

test('a list of dots is kept until its last holder releases it, then its index is reused', () => {
  const several = new SeveralDots();
  const dots = [dot(actorId(1, 0), 1), dot(actorId(2, 0), 1)];
  const words = noWords();
  several.write(dots, words);
  several.hold(words.actor, words.low);
  several.release(words.actor, words.low);
  expect(several.read(words)).toEqual(dots);
  several.release(words.actor, words.low);
  expect([several.size, several.read(words)]).toEqual([0, []]);
  expect(() => several.release(words.actor, words.low)).toThrow('not released more often');
});

test('holding and releasing a single dot does nothing', () => {
  const several = new SeveralDots();
  const words = noWords();
  several.write([dot(actorId(1, 0), 1)], words);
  several.hold(words.actor, words.low);
  several.release(words.actor, words.low);
  several.release(words.actor, words.low);
  expect(several.read(words)).toEqual([dot(actorId(1, 0), 1)]);
});

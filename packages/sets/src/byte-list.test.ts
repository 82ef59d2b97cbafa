import { expect, test } from 'vitest';
import { ByteList } from './byte-list.js';

test('what is kept stays when the list starts over, however long it is', () => {
  const buffer = Buffer.from('ab'.repeat(200_000));
  const list = new ByteList(buffer);
  for (let at = 0; at < buffer.length; at += 2) list.push(at, at + 2);
  const kept = list.keep(1);
  buffer.fill('x');
  list.reset(buffer);
  expect(kept.length).toBe(199_999);
  expect(kept.text(0)).toBe('ab');
  expect(kept.text(199_998)).toBe('ab');
});

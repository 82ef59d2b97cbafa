import { expect, test } from 'vitest';
import { setsLimits } from '../../limits.js';
import type { ReplyValue } from '../../testing/recorded-reply.js';
import { CommandRig, wordsOf } from '../testing/command-rig.js';
import { cursorWord } from './scan-commands.js';

const POSITION_END = 2 ** 48;

// As strtoul reads them, which is what Redis uses.
const cursors = [
  ['0', 0],
  ['', 0],
  ['-0', 0],
  ['+12', 12],
  ['0012', 12],
  ['12\0rest', 12],
  ['281474976710655', POSITION_END - 1],
  ['-1', POSITION_END],
  ['281474976710656', POSITION_END],
  ['18446744073709551615', POSITION_END],
] as const;

test.each(cursors)('the cursor %j stands for position %d', (word, position) => {
  expect(cursorWord(wordsOf(word), 0)).toBe(position);
});

const invalid = [' 1', '1 ', 'x', '-', '1x', '18446744073709551616', '-18446744073709551616'];

test.each([...invalid, '9'.repeat(60_000)])('%j is not a cursor', (word) => {
  expect(cursorWord(wordsOf(word), 0)).toBeUndefined();
});

test.each([1, 3, 10, 100])('SCAN and SSCAN with COUNT %d return everything once', async (count) => {
  const rig = new CommandRig();
  const all = Array.from({ length: 40 }, (_, number) => `m${number}`);
  await rig.send('SADD', 'set', ...all);
  for (const name of all) await rig.send('SADD', name, 'member');
  const options = ['COUNT', String(count), 'MATCH', 'm*'];
  expect(await everyPage(rig, (cursor) => ['SSCAN', 'set', cursor, ...options])).toEqual(
    all.sort(),
  );
  expect(await everyPage(rig, (cursor) => ['SCAN', cursor, ...options])).toEqual(all.sort());
});

test('TYPE shows nothing but sets, and a cursor beyond the end ends', async () => {
  const rig = new CommandRig();
  await rig.send('SADD', 'k', 'a');
  expect(itemsOf(itemsOf(await rig.send('SCAN', '0', 'TYPE', 'set'))[1]).length).toBe(1);
  expect(itemsOf(itemsOf(await rig.send('SCAN', '0', 'TYPE', 'hash'))[1]).length).toBe(0);
  expect(itemsOf(itemsOf(await rig.send('SCAN', '-1'))[1]).length).toBe(0);
  expect(await rig.text('SCAN', '0', 'TYPE')).toBe('ERR syntax error');
  expect(await rig.text('SSCAN', 'k', 'x')).toBe('ERR invalid cursor');
});

test('S19 large members end a page of SSCAN early', async () => {
  const rig = new CommandRig();
  const members = Array.from({ length: 100 }, (_, index) => `${index}:`.padEnd(60_000, 'x'));
  await rig.send('SADD', 'k', ...members.slice(0, 50));
  await rig.send('SADD', 'k', ...members.slice(50));
  const shown = JSON.stringify(await rig.send('SSCAN', 'k', '0', 'COUNT', '100')).length;
  expect(shown).toBeGreaterThan(60_000);
  expect(shown).toBeLessThan(2 * setsLimits.turnBytesMax.value);
});

test('S19 KEYS with a slow pattern takes several turns, and inside a transaction it is refused', async () => {
  const rig = new CommandRig();
  for (let number = 0; number < 12; number += 1)
    await rig.send('SADD', `${'a'.repeat(4_000)}${number}`, 'member');
  const pattern = `*${'a'.repeat(600)}b*`;
  expect(itemsOf(await rig.send('KEYS', pattern))).toEqual([]);
  expect(itemsOf(await rig.send('KEYS', '*1')).length).toBe(2);
  await rig.send('MULTI');
  await rig.send('KEYS', pattern);
  expect(await rig.text('EXEC')).toMatch(/^ERR the pattern takes more than \d+ steps/);
});

async function everyPage(
  rig: CommandRig,
  wordsAt: (cursor: string) => readonly string[],
): Promise<readonly string[]> {
  const seen: string[] = [];
  let cursor = '0';
  do {
    const [next, items] = itemsOf(await rig.send(...wordsAt(cursor)));
    seen.push(...itemsOf(items).map(textOf));
    cursor = textOf(next);
  } while (cursor !== '0');
  return seen.toSorted();
}

function itemsOf(value: ReplyValue | undefined): readonly ReplyValue[] {
  return value !== undefined && 'items' in value ? value.items : [];
}

function textOf(value: ReplyValue | undefined): string {
  return value !== undefined && 'text' in value ? value.text : '';
}

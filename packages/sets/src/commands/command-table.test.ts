import { silentMetrics } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { ByteList } from '../byte-list.js';
import { createCommandTable } from './command-table.js';
import { resolveCommand } from './dispatch.js';
import { wordsOf } from './testing/command-rig.js';

const table = createCommandTable({ metrics: silentMetrics });
const find = (name: string, lookup = table) =>
  lookup.find(ByteList.of(Buffer.from('before'), Buffer.from(name, 'latin1')), 1)?.fullName;

test('every command is found by its name in any case, and no name occurs twice', () => {
  const names = table.all.map(({ fullName }) => fullName);
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) {
    expect(find(name)).toBe(name);
    expect(find(name.toUpperCase())).toBe(name);
    expect(find(`${name.slice(0, 1).toUpperCase()}${name.slice(1)}`)).toBe(name);
  }
});

test('subcommands are found in their command, with both names', () => {
  const config = table.all.find(({ fullName }) => fullName === 'config');
  expect(find('GET', config?.subcommands)).toBe('config|get');
  expect(find('GET')).toBeUndefined();
});

test.each([
  '',
  's',
  'sad',
  'saddd',
  'sadd\0',
  's\u0001dd',
  'S\u0001DD',
  '\u0053\u0061\u0064\u0044x',
])('%j is not a command', (name) => {
  expect(find(name)).toBeUndefined();
});

test('only letters have a case: a byte that differs in the same bit is another name', () => {
  expect(find('syncline\u000evv')).toBeUndefined();
  expect(find('syncline.vv')).toBe('syncline.vv');
});

test('a long name is not even hashed', () => {
  expect(find('s'.repeat(1_000_000))).toBeUndefined();
});

const longest = 'k'.repeat(4_096);

test.each([
  [['SADD', `${longest}x`, 'm']],
  [['SMOVE', 'a', `${longest}x`, 'm']],
  [['SUNION', 'a', 'b', `${longest}x`]],
  [['SINTERCARD', '2', 'a', `${longest}x`]],
  [['OBJECT', 'ENCODING', `${longest}x`]],
])('a key longer than 4,096 bytes is refused: %j', (words) => {
  expect(resolveCommand(table, wordsOf(...words))).toBe('ERR key is longer than 4096 bytes');
  const shorter = words.map((word) => word.replace(`${longest}x`, longest));
  expect(resolveCommand(table, wordsOf(...shorter))).not.toBeTypeOf('string');
});

test('members and options are not keys', () => {
  for (const words of [
    ['SADD', 'k', `${longest}x`],
    ['SINTERCARD', '1', 'a', `${longest}x`],
    ['SINTERCARD', 'x', `${longest}x`],
  ])
    expect(resolveCommand(table, wordsOf(...words))).not.toBeTypeOf('string');
});

test('S5 an undone turn refuses only commands that read or change sets, never those that change the connection', () => {
  const refused = table.all.filter(({ usesSets }) => usesSets).map(({ fullName }) => fullName);
  expect(refused).toEqual(expect.arrayContaining(['sadd', 'scard', 'dbsize', 'exec', 'info']));
  expect(refused).toEqual(expect.arrayContaining(['syncline.read', 'syncline.vv']));
  const kept = ['multi', 'discard', 'watch', 'hello', 'auth', 'select', 'reset', 'quit', 'client'];
  expect(refused.filter((name) => [...kept, 'ping', 'config', 'bgsave'].includes(name))).toEqual(
    [],
  );
});
